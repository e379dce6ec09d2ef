// What a server learns of a request once its head has arrived, before it reads the body.
#pragma once

#include <functional>
#include <memory>

#include "http/limits/caller_share.h"
#include "http/message.h"

namespace horae {

struct Admission {
  // Authenticated, or trusted. What is kept for known callers is not for the others, who are called strangers.
  bool is_known = true;

  // False: the handler is called at once, without the body, and refuses the request.
  bool reads_body = true;

  // Of the caller; null for one without limits of its own.
  std::shared_ptr<CallerShare> share = {};

  // Passed on to the handler, as HttpRequest::admitted.
  std::shared_ptr<void> admitted = {};
};

// `head` is a request without its body. Called on the server's threads, on several at the same time; it must not block.
using Admit = std::function<Admission(const HttpRequest& head)>;

}  // namespace horae
