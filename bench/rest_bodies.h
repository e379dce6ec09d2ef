// The request bodies of a /v1 client that runs whole lives of tasks in batches.
#pragma once

#include <string>

namespace horae::bench {

// {"tasks":[...]}: `count` tasks for the queue `bench`, with four priorities.
std::string batch_body(int count, const std::string& spec);

// {"settlements":[...]}: completions of all tasks in the response of a claim; empty if there were none.
std::string settle_body(const std::string& claimed, const std::string& owner);

}  // namespace horae::bench
