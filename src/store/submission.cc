#include "store/submission.h"

#include <fmt/format.h>
#include <openssl/evp.h>

#include <array>
#include <cstring>
#include <string_view>

#include "base/check.h"
#include "base/quote.h"
#include "store/lease.h"

namespace horae {
namespace {

constexpr std::size_t kDigestBytes = 16;

// Fields one after the other, each with its length, so that no two different requests give the same bytes.
class Fields {
 public:
  void add(std::string_view bytes) {
    add(static_cast<std::int64_t>(bytes.size()));
    bytes_ += bytes;
  }

  // The lowest byte first on every machine, because digests are stored.
  void add(std::int64_t value) {
    const auto bits = static_cast<std::uint64_t>(value);
    std::array<char, sizeof bits> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>((bits >> (8 * i)) & 0xFF);
    bytes_.append(bytes.data(), bytes.size());
  }

  // Zero has two signs and is equal to itself, so it gets one.
  void add(double value) {
    value += 0.0;
    std::int64_t bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    add(bits);
  }

  void add(int value) { add(std::int64_t{value}); }
  void add(Instant at) { add(std::int64_t{at.time_since_epoch().count()}); }
  void add(Duration duration) { add(std::int64_t{duration.count()}); }
  void add(const TaskId& id) { add(std::string_view(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size())); }

  void add(const RetryPolicy& policy) {
    add(static_cast<std::int64_t>(policy.kind));
    add(policy.delay);
    add(policy.factor);
    add(policy.cap);
    add(policy.jitter);
  }

  template <typename T>
  void add(const std::optional<T>& value) {
    add(std::int64_t{value.has_value()});
    if (value) add(*value);
  }

  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

std::string sha256(std::string_view bytes) {
  static const EVP_MD* const kAlgorithm = EVP_MD_fetch(nullptr, "SHA256", nullptr);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int length = 0;
  const int done = EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, kAlgorithm, nullptr);
  HORAE_CHECK(done == 1 && length >= kDigestBytes, "OpenSSL always has SHA-256");
  return {reinterpret_cast<const char*>(digest.data()), kDigestBytes};
}

// A submission with both a key and an id may conflict by either; the id of the stored task shows by which.
bool is_clash_of_keys(const Submission& submission, const SubmitOutcome& outcome) {
  return submission.task.key && (!submission.task.id || outcome.id != *submission.task.id);
}

}  // namespace

Result<void> check_submission(const Submission& submission) {
  if (auto checked = check_new_task(submission.task); !checked.ok()) return checked;
  if (!submission.start) return {};
  if (submission.task.run_at) {
    return Error{ErrorCode::kRefused, "run_at: a task that is started by its submission cannot wait for a time"};
  }
  if (auto checked = check_owner(submission.start->owner); !checked.ok()) return checked;
  return check_lease_length(submission.start->lease);
}

std::string request_digest(const NewTask& task) {
  Fields fields;
  for_each_member(task, [&](const auto& member) { fields.add(member); });
  return sha256(fields.bytes());
}

Error submit_error(const Submission& submission, const SubmitOutcome& outcome) {
  const std::string& queue = submission.task.queue;
  if (outcome.kind == SubmitOutcome::Kind::kOverLimit) {
    return {ErrorCode::kOverLimit,
            fmt::format("queue {}: cannot submit: the queue is new, and there are as many queues as there may be "
                        "(setting queues.max); use one of them, or delete one: horae queue delete",
                        queue)};
  }
  if (outcome.kind == SubmitOutcome::Kind::kOverAllowance) {
    HORAE_CHECK(submission.allowance != nullptr, "only an allowance can be used up");
    return {
        ErrorCode::kOverLimit,
        fmt::format("queue {}: cannot submit: the queue is new, and token {} has made the {} queues that it may make "
                    "(setting queues.max_per_token); use one of them, or delete one: horae queue delete",
                    queue, submission.allowance->token, submission.allowance->most)};
  }
  HORAE_CHECK(outcome.kind == SubmitOutcome::Kind::kConflict, "a stored submission has no error");
  if (is_clash_of_keys(submission, outcome)) {
    return {ErrorCode::kConflict,
            fmt::format("key {} in queue {}: cannot submit: task {} ({}) was submitted under this key with another "
                        "content; repeat that request exactly, or use another key",
                        quote(*submission.task.key, 4 * kMaxKeyCharacters), queue, to_string(outcome.id),
                        to_string(outcome.state))};
  }
  return {ErrorCode::kConflict, fmt::format("task {}: cannot submit: a task ({}) was submitted under this id with "
                                            "another content; repeat that request exactly, or use another id",
                                            to_string(outcome.id), to_string(outcome.state))};
}

}  // namespace horae
