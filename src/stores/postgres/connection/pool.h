// The connections of a store, and the one way to run a transaction on them.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/result.h"
#include "stores/postgres/connection/connection.h"

namespace horae::postgres {

struct PoolOptions {
  Duration answer_timeout = kAnswerTimeout;  // of its connections

  // Checks each new connection, which may lead to another server than the one before. One that it refuses is not used,
  // and the caller gets its error.
  std::function<Result<void>(const Connection&)> check = {};

  // For tests: see Connection::set_before_commit().
  std::function<bool()> before_commit = {};
};

// When a transaction whose connection was lost is run again.
enum class Repeat {
  kIfNothingHappened,  // not if COMMIT may have arrived
  kAlways,             // it is idempotent
};

// Thread-safe; a caller waits while all connections are busy.
class Pool {
 public:
  Pool(std::string url, std::size_t connections, PoolOptions options = {})
      : url_(std::move(url)), options_(std::move(options)), free_places_(connections) {}

  // Runs `body` (Transaction& -> Result<T>), which commits at its end. It is run again
  //   after a serialization failure or deadlock, a few times, with a random pause;
  //   after a lost connection, once and on a new one, if COMMIT cannot have happened.
  // If it can, the answer is kUnavailable: the outcome is unknown, and the caller repeats its call with the same ids
  // and tokens; with Repeat::kAlways the body finds what it did before, and is run again here. `body` may return success after a failure that it has noticed, but not after one that it has
  // overlooked.
  template <typename T, typename Body>
  Result<T> transact(Body body, Repeat repeat = Repeat::kIfNothingHappened) {
    return run<T>(Transaction::Kind::kChange, body, repeat);
  }

  // The same for a body that waits for nothing before it commits.
  template <typename T, typename Body>
  Result<T> transact_in_one_trip(Body body, Repeat repeat = Repeat::kIfNothingHappened) {
    return run<T>(Transaction::Kind::kOneTrip, body, repeat);
  }

  // The same for reading: all statements see one moment.
  template <typename T, typename Body>
  Result<T> look(Body body) {
    return run<T>(Transaction::Kind::kSnapshot, body, Repeat::kAlways);
  }

  // One statement that is a transaction by itself, without BEGIN and COMMIT around it: for what is sent all the time.
  template <typename T, typename Body>
  Result<T> alone(Body body) {
    return run<T>(Transaction::Kind::kAlone, body, Repeat::kIfNothingHappened);
  }

  // All connections that were made until now, also those that are lent, are used no more once they are given back.
  void renew();

  // How many transactions of any pool have begun on this thread.
  static std::uint64_t begun_on_this_thread() { return begun_; }

  // Lends a connection, for statements that cannot run in a transaction.
  template <typename T, typename Body>
  Result<T> with_connection(Body body) {
    auto lent = borrow();
    if (!lent.ok()) return lent.error();
    Result<T> answer = body(*lent->connection);
    give_back(std::move(*lent));
    return answer;
  }

 private:
  // How often a transaction was run already, and how often that ended with the loss of its connection.
  struct Attempts {
    int count = 0;
    int lost = 0;
  };

  template <typename T, typename Body>
  Result<T> run(Transaction::Kind kind, Body& body, Repeat repeat) {
    for (Attempts attempts;;) {
      auto lent = borrow();
      if (!lent.ok()) return lent.error();
      std::optional<Failure> failure;
      bool overlooked = false;
      Result<T> answer = [&] {
        Transaction transaction(*lent->connection, kind);
        Result<T> said = body(transaction);
        overlooked = transaction.failed_unnoticed();
        failure = transaction.failure();
        return said;
      }();
      give_back(std::move(*lent));
      if (!failure || (answer.ok() && !overlooked)) return answer;
      if (!may_repeat(*failure, attempts, repeat)) return answer.ok() ? Result<T>(std::move(failure->error)) : answer;
      pause(attempts);
    }
  }

  struct Pooled {
    std::unique_ptr<Connection> connection;  // null for one that could not be made
    std::uint64_t generation = 0;            // of the pool, when it was made
  };
  Result<Pooled> borrow();
  Result<std::unique_ptr<Connection>> make();
  void give_back(Pooled lent);
  static bool may_repeat(const Failure& failure, Attempts& attempts, Repeat repeat);
  void pause(const Attempts& attempts);

  inline static thread_local std::uint64_t begun_ = 0;

  const std::string url_;
  const PoolOptions options_;
  SystemRandom random_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::size_t free_places_;       // guarded by mutex_; connections that may be lent or made
  std::vector<Pooled> idle_;      // guarded by mutex_; all of this generation
  std::uint64_t generation_ = 0;  // guarded by mutex_
};

}  // namespace horae::postgres
