#include "api/routes/queue_removal.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "api/json/json_writer.h"
#include "base/quote.h"

namespace horae {
namespace {

// Bounds the work of one call where tasks come as fast as they are cancelled.
constexpr int kMostSteps = 10'000;

constexpr const char* kCancelReason = "the queue is being deleted";

class Removal : public std::enable_shared_from_this<Removal> {
 public:
  Removal(Api& api, std::shared_ptr<Call> call, bool cancels)
      : api_(api), call_(std::move(call)), queue_(call_->arguments[0]), cancels_(cancels) {}

  void go_on() {
    api_.read(call_, [self = shared_from_this()] { self->step(); });
  }

 private:
  void step() {
    if (call_->responder.is_gone()) return;
    const auto removal = api_.parts().queues.remove(queue_, kMaxBatch);
    if (!removal.ok()) return call_->fail(removal.error());
    purged_ += removal->purged;
    switch (removal->kind) {
      case QueueRemoval::Kind::kRemoved:
        return answer();
      case QueueRemoval::Kind::kNotFound:
        if (steps_ > 0) return answer();  // it was forgotten, or another call was faster
        return call_->fail(Error{ErrorCode::kNotFound, fmt::format("queue {}: there is none", queue_)});
      case QueueRemoval::Kind::kPurging:
        break;
      case QueueRemoval::Kind::kHasTasks:
        if (!cancels_) return refuse();
        if (const auto cancelled = cancel_some(); !cancelled.ok()) return call_->fail(cancelled.error());
        break;
    }
    if (++steps_ == kMostSteps) return give_up();
    go_on();
  }

  Result<void> cancel_some() {
    for (const ListKind kind : {ListKind::kScheduled, ListKind::kReady, ListKind::kRunning}) {
      const auto page = api_.parts().tasks.list({.kind = kind, .queue = queue_, .limit = kMaxPage});
      if (!page.ok()) return page.error();
      std::vector<CancelWish> wishes;
      for (const Task& task : page->tasks) wishes.push_back({.id = task.id, .reason = kCancelReason, .scope = {}});
      const auto outcomes = api_.parts().tasks.cancel(wishes);
      if (!outcomes.ok()) return outcomes.error();
      for (const CancelOutcome& outcome : *outcomes) cancelled_ += outcome.verdict == Verdict::kAccepted ? 1U : 0U;
    }
    return {};
  }

  void refuse() const {
    call_->fail(
        Error{ErrorCode::kConflict,
              fmt::format("queue {}: cannot delete it while tasks wait or run in it; wait until they have ended, "
                          "or cancel them with it: cancel_tasks=true (horae queue delete --cancel-tasks)",
                          queue_)});
  }

  void give_up() const {
    call_->fail(
        Error{ErrorCode::kUnavailable,
              fmt::format("queue {}: {} tasks were cancelled, and more keep coming; stop the clients that submit "
                          "them, then repeat the call",
                          queue_, cancelled_)});
  }

  void answer() const {
    std::string json;
    JsonObject object(json);
    object.add("name", queue_);
    object.add("cancelled", cancelled_);
    object.add("purged", purged_);
    object.end();
    call_->answer(200, std::move(json));
  }

  Api& api_;
  const std::shared_ptr<Call> call_;
  const std::string queue_;
  const bool cancels_;
  int steps_ = 0;
  std::size_t cancelled_ = 0;
  std::size_t purged_ = 0;
};

}  // namespace

void delete_queue(Api& api, const std::shared_ptr<Call>& call) {
  if (auto allowed = call->check_scope(call->arguments[0]); !allowed.ok()) return call->fail(allowed.error());
  const auto cancels = call->parameter("cancel_tasks").value_or("false");
  if (cancels != "true" && cancels != "false") {
    return call->fail(Error{ErrorCode::kMalformed, fmt::format("cancel_tasks {}: give true or false", quote(cancels))});
  }
  std::make_shared<Removal>(api, call, cancels == "true")->go_on();
}

}  // namespace horae
