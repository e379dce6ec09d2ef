#include "http/pending_answer.h"

#include <atomic>
#include <utility>

#include "http/connection.h"
#include "http/problem.h"

namespace horae {
namespace {

class PendingAnswer final : public AnswerSlot, public std::enable_shared_from_this<PendingAnswer> {
 public:
  PendingAnswer(std::shared_ptr<Connection> connection, std::uint64_t id, HeldBytes bytes)
      : connection_(std::move(connection)), id_(id), bytes_(std::move(bytes)) {}
  ~PendingAnswer() override {
    if (!answered_ && !gone_) connection_->post_dropped(id_);
  }
  PendingAnswer(const PendingAnswer&) = delete;
  PendingAnswer& operator=(const PendingAnswer&) = delete;

  void answer(HttpResponse response, Sent sent) override {
    const bool first = !answered_.exchange(true);
    const bool posted = first && !gone_ && post(std::move(response), sent);
    if (!posted && sent) sent(false);
  }

  void stream(HttpResponse head, std::shared_ptr<BodyStream> body) override {
    const bool first = !answered_.exchange(true);
    if (first && !gone_) connection_->post_stream(id_, std::move(head), std::move(body));
  }

  void resume() override { connection_->post_resume(); }

  // The connection keeps this callback, so it holds the slot weakly: the two must not keep each other alive.
  void on_gone(std::function<void()> gone) override {
    connection_->post_watch(id_, [weak = weak_from_this(), gone = std::move(gone)] {
      const auto slot = weak.lock();
      if (!slot || slot->answered_ || slot->gone_.exchange(true)) return;
      gone();
    });
  }

  bool is_gone() const override { return gone_; }

 private:
  // An answer that finds no room is not delivered: its client gets 503 instead, and `sent` false.
  bool post(HttpResponse response, Sent& sent) {
    if (auto held = bytes_.for_answer(response.body.capacity() + kHeadBytes)) {
      return connection_->post_answer(id_, std::move(response), std::move(*held), sent);
    }
    HeldBytes held = bytes_.sibling();
    const std::string reason = held.is_of_full_share()
                                   ? "your other requests and answers hold the limit of bytes of one caller"
                                   : "requests and answers hold this node's limit of bytes";
    connection_->log_busy(id_, reason);
    response =
        problem_response({.kind = problem_kind("busy"),
                          .detail = "there is no room for this answer: " + reason + "; read them, or retry later",
                          .request = id_});
    held.add(response.body.size() + kHeadBytes);
    Sent none;
    (void)connection_->post_answer(id_, std::move(response), std::move(held), none);
    return false;
  }

  static constexpr std::size_t kHeadBytes = 512;  // about so many

  const std::shared_ptr<Connection> connection_;
  const std::uint64_t id_;
  const HeldBytes bytes_;  // of the request, which lives about as long as its handles
  std::atomic<bool> answered_ = false;
  std::atomic<bool> gone_ = false;
};

}  // namespace

std::shared_ptr<AnswerSlot> make_pending_answer(std::shared_ptr<Connection> connection, std::uint64_t id,
                                                HeldBytes bytes) {
  return std::make_shared<PendingAnswer>(std::move(connection), id, std::move(bytes));
}

}  // namespace horae
