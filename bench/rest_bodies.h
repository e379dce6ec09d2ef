// What a client of /v1 sends to let tasks live whole lives by batches.
#pragma once

#include <string>

namespace horae::bench {

// {"tasks":[...]}: so many for the queue `bench`, of four priorities.
std::string batch_body(int count, const std::string& spec);

// {"settlements":[...]}: completions of all that a claim was answered with; empty if that was nothing.
std::string settle_body(const std::string& claimed, const std::string& owner);

}  // namespace horae::bench
