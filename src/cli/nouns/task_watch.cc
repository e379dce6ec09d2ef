#include "cli/nouns/task_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>

#include "base/duration.h"
#include "base/waker.h"
#include "cli/nouns/task_view.h"

namespace horae::cli {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(50);
constexpr Duration kLongestPause = std::chrono::seconds(1);
constexpr Duration kPollInterval = std::chrono::seconds(5);  // without an event: events may be lost
constexpr Duration kPatience = std::chrono::seconds(60);     // with a node that is unavailable

constexpr std::array kIdFlag = {FlagOfField{"id", "ID"}};

// Prints the status of a task when it has changed.
class StatusLine {
 public:
  explicit StatusLine(const Console& console) : console_(console) {}
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  void show(const TaskReply& task) {
    if (console_.err_is_terminal) return redraw(progress_bar(task));
    // For a log, a change of progress alone is not worth a line.
    const std::string line = fmt::format("{}, attempt {}", task.state, task.attempt);
    if (line == shown_) return;
    shown_ = line;
    console_.err << fmt::format("task {}: {}\n", task.id, standing_of(task));
  }

  void show_note(const std::string& line) {
    if (console_.err_is_terminal) return redraw(line);
    if (line != shown_) console_.err << line << '\n';
    shown_ = line;
  }

  void clear() {
    if (console_.err_is_terminal && !shown_.empty()) console_.err << "\r\x1b[K" << std::flush;
    shown_.clear();
  }

 private:
  void redraw(const std::string& line) {
    if (line == shown_) return;
    shown_ = line;
    console_.err << "\r\x1b[K" << line << std::flush;
  }

  const Console& console_;
  std::string shown_;
};

int print_end(const Console& console, const WatchOptions& options, const TaskReply& task, const std::string& reply) {
  if (options.json) {
    console.out << reply << '\n';
  } else {
    console.out << fmt::format("task {} {}\n", task.id, painted(console, colour_of(task.state), standing_of(task)));
    if (!task.result.empty()) console.out << printable(task.result) << '\n';
  }
  return task.state == "completed" ? kDone : kNotCompleted;
}

}  // namespace

std::string progress_bar(const TaskReply& task, std::size_t width) {
  const double part = std::clamp(task.progress, 0.0, 1.0);  // clamp() keeps NaN; the comparison below is false for it
  const auto full = part >= 0 ? static_cast<std::size_t>(part * static_cast<double>(width)) : 0;
  return fmt::format("[{}{}] {:>5}  {}", std::string(full, '#'), std::string(width - full, '-'), percent(task.progress),
                     standing_of(task));
}

namespace {

// Polls the task after each event about it; without an event stream, at growing intervals.
class Watcher {
 public:
  Watcher(const Context& context, std::string_view command, NodeClient& client, const WatchOptions& options)
      : context_(context),
        command_(command),
        client_(client),
        events_(client.another()),
        options_(options),
        start_(context.clock.now()),
        last_reply_(start_),
        status_line_(context.console) {}

  int watch() {
    while (!exit_code_ && !poll()) wait_for_event();
    return *exit_code_;
  }

 private:
  // Fetches the task. True if the wait is over.
  bool poll() {
    const auto reply = client_.get("/v1/tasks/" + options_.id);
    const MonotonicTime now = context_.clock.now();
    if (reply.ok()) {
      last_reply_ = now;
      const auto task = read_task(*reply);
      if (!task.ok()) return end(fail(context_, command_, {.json = options_.json}, task.error()));
      if (task->has_ended()) {
        status_line_.clear();
        return end(print_end(context_.console, options_, *task, *reply));
      }
      status_line_.show(*task);
    } else if (!reply.error().retryable() || now - last_reply_ > kPatience) {
      status_line_.clear();
      return end(fail(context_, command_, {.json = options_.json}, client_, in_flags(reply, kIdFlag).error()));
    } else {
      status_line_.show_note("the node is unavailable; retrying");
    }
    return options_.limit && now - start_ >= *options_.limit && give_up(reply);
  }

  bool give_up(const Result<std::string>& reply) {
    status_line_.clear();
    if (options_.json && reply.ok()) context_.console.out << *reply << '\n';
    context_.console.err << fmt::format(
        "horae {}: task {} has not ended within {} and continues; to wait again: horae task watch {}\n", command_,
        options_.id, format_duration(*options_.limit), options_.id);
    return end(kStillWaiting);
  }

  bool end(int exit_code) {
    exit_code_ = exit_code;
    return true;
  }

  // Polls at the first piece of the stream as well, since the task may have changed before the stream began.
  void wait_for_event() {
    if (exit_code_) return;
    bool has_begun = false;
    Duration time = kPollInterval;
    if (options_.limit) time = std::min(time, start_ + *options_.limit - context_.clock.now());
    if (time > kFirstPause) {
      (void)events_.stream("/v1/events?task=" + options_.id, time, [&](std::string_view piece) {
        const bool is_due = !std::exchange(has_begun, true) || piece.find("event:") != std::string_view::npos;
        return !is_due || !poll();
      });
    }
    if (exit_code_ || has_begun) return;
    Waker never_woken;  // there is no event stream: waits for the deadline only
    (void)never_woken.wait(context_.clock.now() + pause_);
    pause_ = std::min(pause_ * 3 / 2, kLongestPause);
  }

  const Context& context_;
  const std::string_view command_;
  NodeClient& client_;
  NodeClient events_;
  const WatchOptions& options_;
  const MonotonicTime start_;
  MonotonicTime last_reply_;
  Duration pause_ = kFirstPause;
  StatusLine status_line_;
  std::optional<int> exit_code_;
};

struct WatchFlags {
  ClientOptions client;
  std::string id;
  std::optional<std::string> limit;
};

int run_watch(const Context& context, const WatchFlags& flags) {
  const auto limit = parse_duration(flags.limit.value_or("0s"));
  auto client = NodeClient::open(context, flags.client);
  if (!limit.ok()) {
    return misuse(context, "task watch", flags.client, {limit.error().code, "--wait-limit: " + limit.error().message});
  }
  if (!client.ok()) return misuse(context, "task watch", flags.client, client.error());
  return watch_task(context, "task watch", *client,
                    {.id = escape_url(flags.id),
                     .limit = flags.limit ? std::optional(*limit) : std::nullopt,
                     .json = flags.client.json});
}

}  // namespace

int watch_task(const Context& context, std::string_view command, NodeClient& client, const WatchOptions& options) {
  return Watcher(context, command, client, options).watch();
}

void add_watch(CLI::App& noun, Context& context) {
  CLI::App& command = add_verb(noun, "watch", "Wait until a task ends; exit with 3 unless it completed",
                               "  horae task watch 0190f7c2-0a1b-7c3d-8e4f-0123456789ab --wait-limit 10m");
  const auto flags = std::make_shared<WatchFlags>();
  command.add_option("ID", flags->id, "Id of the task")->required()->type_name("");
  command.add_option("--wait-limit", flags->limit, "Maximum time to wait; then exit with 5")->type_name("DURATION");
  add_client_options(command, flags->client);
  set_action(command, context, flags, run_watch);
}

}  // namespace horae::cli
