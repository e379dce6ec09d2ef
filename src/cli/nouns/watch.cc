#include "cli/nouns/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
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
constexpr Duration kLongestSilence = std::chrono::seconds(5);  // then it looks without an event: any may be missing
constexpr Duration kPatience = std::chrono::seconds(60);       // with a node that is away

constexpr std::array kIdFlag = {FlagOfField{"id", "ID"}};

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

namespace {

// Looks at the task whenever an event says that something happened to it; where there are no events, now and then.
class Watcher {
 public:
  Watcher(const Context& context, std::string_view command, NodeClient& client, const WatchOptions& options)
      : context_(context),
        command_(command),
        client_(client),
        events_(client.another()),
        options_(options),
        start_(context.clock.now()),
        last_answer_(start_),
        standing_(context.console) {}

  int watch() {
    while (!exit_code_ && !look()) wait_for_news();
    return *exit_code_;
  }

 private:
  // True if there is nothing more to wait for.
  bool look() {
    const auto reply = client_.get("/v1/tasks/" + options_.id);
    const MonotonicTime now = context_.clock.now();
    if (reply.ok()) {
      last_answer_ = now;
      const auto task = read_task(*reply);
      if (!task.ok()) return end(fail(context_, command_, task.error()));
      if (task->has_ended()) {
        standing_.clear();
        return end(tell_end(context_.console, options_, *task, *reply));
      }
      standing_.show(*task);
    } else if (!reply.error().retryable() || now - last_answer_ > kPatience) {
      standing_.clear();
      return end(fail(context_, command_, {.json = options_.json}, client_, in_flags(reply, kIdFlag).error()));
    } else {
      standing_.say("the node does not answer; trying again");
    }
    return options_.limit && now - start_ >= *options_.limit && give_up();
  }

  bool give_up() {
    standing_.clear();
    context_.console.err << fmt::format("horae {}: task {} has not ended within {}; it goes on: horae task watch {}\n",
                                        command_, options_.id, format_duration(*options_.limit), options_.id);
    return end(kNotCompleted);
  }

  bool end(int exit_code) {
    exit_code_ = exit_code;
    return true;
  }

  // What happened between the last look and the begin of the stream is seen by a look at its begin.
  void wait_for_news() {
    if (exit_code_) return;
    bool has_begun = false;
    Duration time = kLongestSilence;
    if (options_.limit) time = std::min(time, start_ + *options_.limit - context_.clock.now());
    if (time > kFirstPause) {
      (void)events_.stream("/v1/events?task=" + options_.id, time, [&](std::string_view piece) {
        const bool is_news = !std::exchange(has_begun, true) || piece.find("event:") != std::string_view::npos;
        return !is_news || !look();
      });
    }
    if (exit_code_ || has_begun) return;
    Waker nobody;  // there are no events to wait for, only the time
    (void)nobody.wait(context_.clock.now() + pause_);
    pause_ = std::min(pause_ * 3 / 2, kLongestPause);
  }

  const Context& context_;
  const std::string_view command_;
  NodeClient& client_;
  NodeClient events_;
  const WatchOptions& options_;
  const MonotonicTime start_;
  MonotonicTime last_answer_;
  Duration pause_ = kFirstPause;
  Standing standing_;
  std::optional<int> exit_code_;
};

}  // namespace

int watch_task(const Context& context, std::string_view command, NodeClient& client, const WatchOptions& options) {
  return Watcher(context, command, client, options).watch();
}

}  // namespace horae::cli
