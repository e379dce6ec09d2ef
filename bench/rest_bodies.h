// The request bodies of a /v1 client that runs whole lives of tasks in batches.
#pragma once

#include <string>
#include <vector>

namespace horae::bench {

// {"tasks":[...]}: `count` tasks for the queue `bench`, with four priorities.
std::string batch_body(int count, const std::string& spec);

// {"settlements":[...]}: completions of all tasks in the response of a claim; empty if there were none.
std::string settle_body(const std::string& claimed, const std::string& owner);

// A task that a claim or an exchange has leased.
struct HeldTask {
  std::string id;  // these three as JSON
  std::string number;
  std::string attempt;
};
std::vector<HeldTask> held_tasks(const std::string& answer);

// What a worker says in one call: completions, heartbeats, and a claim if `max` is above 0.
std::string exchange_body(const std::string& owner, const std::vector<HeldTask>& done,
                          const std::vector<HeldTask>& running, int max, const std::string& token,
                          const std::string& wait = {});

}  // namespace horae::bench
