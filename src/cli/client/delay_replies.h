// Answers of a node about delay queues, read as far as the command line needs them.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace horae::cli {

struct DelayQueueReply {
  std::string name;
  std::int64_t waiting = 0;
  std::int64_t ready = 0;
  std::int64_t overdue = 0;
  std::string oldest_overdue;  // empty where the node says null, as all below
  bool more = false;
  double fired_per_second = 0;
  std::string lateness_p50;
  std::string lateness_p99;
  std::string timing_advance;
  std::string lag;                    // of the input
  std::vector<std::string> problems;  // "output: topic orders.out does not exist"
};
Result<DelayQueueReply> read_delay_queue(std::string_view json);
Result<std::vector<DelayQueueReply>> read_delay_queues(std::string_view json);

struct MessageReply {
  std::string id;
  std::string state;
  std::string deadline;
  std::string due;
  std::string key;  // as JSON, as the two below
  std::string value;
  std::string headers;
  std::string readied_at;
  std::string readied_by;
};
Result<MessageReply> read_message(std::string_view json);

struct MessagePageReply {
  std::vector<MessageReply> messages;
  std::string next;  // empty after the last page
};
Result<MessagePageReply> read_message_page(std::string_view json);

// The outcome for one message that was put.
struct PutReply {
  std::string id;
  std::string outcome;  // "created", "present"; empty if it was refused
  std::string type;     // of the problem: "urn:horae:problem:firing"
  std::string problem;
};
Result<PutReply> read_put(std::string_view json);
Result<std::vector<PutReply>> read_put_outcomes(std::string_view json);

struct MovedReply {
  std::string id;
  std::string deadline;
};
Result<MovedReply> read_moved(std::string_view json);

}  // namespace horae::cli
