#include "cli/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "base/duration.h"
#include "base/waker.h"
#include "cli/task_view.h"

namespace horae::cli {
namespace {

constexpr Duration kFirstPause = std::chrono::milliseconds(50);
constexpr Duration kLongestPause = std::chrono::seconds(1);
constexpr Duration kPatience = std::chrono::seconds(60);  // with a node that is away

// What has been shown, so that only changes are.
class Standing {
 public:
  explicit Standing(const Console& console) : console_(console) {}
  ~Standing() { clear(); }
  Standing(const Standing&) = delete;
  Standing& operator=(const Standing&) = delete;

  void show(const TaskReply& task) {
    if (console_.err_is_terminal) return redraw(progress_bar(task));
    // Progress alone is no news for a log.
    const std::string line = fmt::format("{}, attempt {}", task.state, task.attempt);
    if (line == shown_) return;
    shown_ = line;
    console_.err << fmt::format("task {}: {}\n", task.id, standing_of(task));
  }

  void say(const std::string& line) {
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

int tell_end(const Console& console, const WatchOptions& options, const TaskReply& task, const std::string& reply) {
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
  const double part = std::clamp(task.progress, 0.0, 1.0);  // false for NaN in both directions: guarded below
  const auto full = part >= 0 ? static_cast<std::size_t>(part * static_cast<double>(width)) : 0;
  return fmt::format("[{}{}] {:>5}  {}", std::string(full, '#'), std::string(width - full, '-'), percent(task.progress),
                     standing_of(task));
}

int watch_task(const Context& context, std::string_view command, NodeClient& client, const WatchOptions& options) {
  const MonotonicTime start = context.clock.now();
  MonotonicTime last_answer = start;
  Duration pause = kFirstPause;
  Standing standing(context.console);
  Waker nobody;  // there is no event to wait for yet, only the time
  while (true) {
    const auto reply = client.get("/v1/tasks/" + options.id);
    const MonotonicTime now = context.clock.now();
    if (reply.ok()) {
      last_answer = now;
      const auto task = read_task(*reply);
      if (!task.ok()) return fail(context, command, task.error());
      if (task->has_ended()) {
        standing.clear();
        return tell_end(context.console, options, *task, *reply);
      }
      standing.show(*task);
    } else if (!reply.error().retryable() || now - last_answer > kPatience) {
      standing.clear();
      return fail(context, command, reply.error());
    } else {
      standing.say("the node does not answer; trying again");
    }
    if (options.limit && now - start >= *options.limit) {
      standing.clear();
      context.console.err << fmt::format("horae {}: task {} has not ended within {}; it goes on: horae task watch {}\n",
                                         command, options.id, format_duration(*options.limit), options.id);
      return kNotCompleted;
    }
    (void)nobody.wait(now + pause);
    pause = std::min(pause * 3 / 2, kLongestPause);
  }
}

}  // namespace horae::cli
