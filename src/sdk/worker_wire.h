// The JSON of a worker's calls, as docs/start/workers.md describes them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "store/lease.h"

namespace horae {

// The answer to POST /v1/workers.
Result<std::string> read_worker_id(std::string_view answer);

// The body of POST /v1/exchange for a claim alone, which waits.
std::string claim_json(const ClaimWish& wish, Duration wait);

// An attempt that is leased but did not fit into the answer.
struct LeasedAttempt {
  TaskId id;
  int attempt = 0;
};

struct ClaimAnswer {
  std::vector<LeasedTask> tasks;
  std::vector<LeasedAttempt> rest;
  bool attention = false;  // one of the owner's tasks was cancelled: its heartbeats say which
};

Result<ClaimAnswer> read_claim_answer(std::string_view answer);

// One settlement, complete with its owner. Which fields are written depends on the event, as in Settlement.
std::string settlement_json(const Settlement& settlement);

// The body of POST /v1/settle.
std::string settle_json(std::span<const std::string> settlements);

struct SettleAnswer {
  std::string verdict;  // "accepted", "repeated", ...; empty if the settlement itself is wrong
  std::string problem;  // why it was refused, for a log
};

// The answer to `count` settlements, in order.
Result<std::vector<SettleAnswer>> read_settle_answer(std::string_view answer, std::size_t count);

// The `detail` of a problem document; the begin of the text if it is none.
std::string detail_of_problem(std::string_view body);

}  // namespace horae
