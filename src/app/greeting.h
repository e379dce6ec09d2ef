// What `horae serve` says when it runs: what to open and what to type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"

namespace horae {

// What a person can open of the URLs that a node listens at, each once. An address that stands for all of the machine's
// (0.0.0.0, [::]) is none that one calls: it becomes loopback, for who sits here, and the machine's name, for others.
std::vector<std::string> urls_to_open(const std::vector<std::string>& urls, std::string_view machine);

struct Greeting {
  std::string owner;              // the node's id
  std::string store;              // in words
  std::vector<std::string> urls;  // what to open, one at least
  std::string program;            // as one would type it here
};

std::string greeting(const Greeting& greeting, const Config& config);

}  // namespace horae
