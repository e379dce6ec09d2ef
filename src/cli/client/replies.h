// Answers of a node, read as far as the command line needs them. Values that a client gave (specs, results) keep their
// bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"

namespace horae::cli {

// A member of a JSON object.
struct Member {
  std::string name;
  std::string json;  // its value
};

// The value as text: a string without its quotes, other values as they are; empty for null.
std::string text_of(const Member& member);

struct HistoryReply {
  std::string kind;
  std::string worker;
  std::string time;
  std::int64_t attempt = 0;
  std::optional<double> progress;
  std::string detail;  // JSON; empty if absent
};

struct ErrorReply {
  std::string code;
  std::string args;  // a JSON object; empty if absent
  std::string description;
};

struct TaskReply {
  std::vector<Member> members;  // all of them, also those below and those that only a newer node sends

  // Members that decide something here.
  std::string id;
  std::string key;  // empty where the node says null, as all below
  std::string queue;
  std::int64_t priority = 0;
  std::string state;
  double progress = 0;
  std::string updated_at;
  std::string run_at;
  std::int64_t attempt = 0;
  std::int64_t tries = 0;
  std::int64_t max_attempts = 0;
  std::vector<Member> retry;
  std::string owner;
  std::vector<ErrorReply> errors;
  std::string result;
  std::string cancel_reason;
  std::vector<HistoryReply> history;
  std::int64_t history_omitted = 0;

  bool has_ended() const { return state == "completed" || state == "aborted" || state == "cancelled"; }
};
Result<TaskReply> read_task(std::string_view json);

struct ScheduleReply {
  std::vector<Member> members;  // all of them

  std::string name;
  std::string words;
  std::string next_at;  // empty if there is none
  bool paused = false;
};
Result<ScheduleReply> read_schedule(std::string_view json);

struct SchedulesReply {
  std::vector<ScheduleReply> schedules;
  std::string next;  // empty after the last page
};
Result<SchedulesReply> read_schedules(std::string_view json);

struct FireReply {
  std::string at;
  std::string last;
  std::int64_t count = 0;
  std::string task;     // empty if it has none
  std::string skipped;  // why; empty if it has one
};
Result<std::vector<FireReply>> read_fires(std::string_view json);

struct FirePreviewReply {
  struct Fire {
    std::string at;
    std::string run_at;
  };
  std::string words;
  std::vector<Fire> fires;
};
Result<FirePreviewReply> read_fire_preview(std::string_view json);

struct PageReply {
  std::vector<TaskReply> tasks;
  std::string next;  // empty after the last page
  std::string as_of;
};
Result<PageReply> read_page(std::string_view json);

struct SubmitReply {
  std::string id;
  std::string state;
  std::string outcome;
};
Result<SubmitReply> read_submitted(std::string_view json);

// The outcome for one of the ids of a cancel.
struct CancelReply {
  std::string id;
  std::string verdict;  // empty if the node did not try it
  std::string state;
  std::string problem;     // why it was refused
  bool is_misuse = false;  // it was refused because the text cannot be an id (400, 422)
};
Result<CancelReply> read_cancelled(std::string_view json);
Result<std::vector<CancelReply>> read_cancel_outcomes(std::string_view json);

struct QueueReply {
  std::string name;
  bool paused = false;
  std::int64_t ageing_rate = 0;
  std::string retention;
  std::int64_t scheduled = 0;
  std::int64_t ready = 0;
  std::int64_t running = 0;
  std::int64_t completed = 0;
  std::int64_t aborted = 0;
  std::int64_t cancelled = 0;
  std::string oldest_ready;
};
Result<QueueReply> read_queue(std::string_view json);  // counts are 0 in the answer to a change
Result<std::vector<QueueReply>> read_queues(std::string_view json);

struct QueueRemovalReply {
  std::string name;
  std::int64_t cancelled = 0;
  std::int64_t purged = 0;
};

struct SchedulerReply {
  struct Work {  // a slot and its task, or a task that waits for a slot
    std::int64_t level = 0;
    bool is_internal = false;
    std::string state;
    std::string task;
    std::string queue;
    std::int64_t attempt = 0;
    std::string since;
  };
  bool running = false;
  std::optional<bool> changed;  // in the answer to start and stop only
  std::vector<Work> slots;
  std::vector<Work> backlog;
  std::int64_t waiting_workers = 0;
};
Result<QueueRemovalReply> read_queue_removal(std::string_view json);
Result<SchedulerReply> read_scheduler(std::string_view json);

struct TokenReply {
  std::string id;
  std::string name;
  std::string role;
  std::vector<std::string> queues;
  std::string created_at;
  std::string secret;  // only in the answer that creates it
};
Result<TokenReply> read_token(std::string_view json);
Result<std::vector<TokenReply>> read_tokens(std::string_view json);

struct ExplainReply {
  struct Reason {
    std::string code;
    std::string detail;
  };
  std::string id;
  std::string queue;
  std::string state;
  std::vector<Reason> reasons;
};
Result<ExplainReply> read_explanation(std::string_view json);

struct NodeReply {
  std::string id;
  std::string address;
  std::string version;
  std::string started_at;
  std::string last_seen;
};
Result<std::vector<NodeReply>> read_nodes(std::string_view json);

struct NodeStatusReply {
  std::string status;
  std::string version;
};
Result<NodeStatusReply> read_node_status(std::string_view json);

// The "detail" of a problem document; nothing if the text is not one.
std::optional<std::string> read_problem(std::string_view json);

// Fails unless the text is one JSON value; the error names the byte.
Result<void> check_json(std::string_view text);

}  // namespace horae::cli
