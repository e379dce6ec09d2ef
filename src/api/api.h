// The HTTP API of a node, on top of a store and the engine.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/access/caller_shares.h"
#include "api/access/gate.h"
#include "api/access/guess_limit.h"
#include "api/read_pool.h"
#include "api/readiness.h"
#include "api/request_meter.h"
#include "api/route.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/log_rate_limiter.h"
#include "base/random.h"
#include "base/uuid.h"
#include "engine/claims/claimer.h"
#include "engine/relay/delay_queues.h"
#include "engine/slots/dispatcher.h"
#include "http/limits/admission.h"
#include "observe/event_ring.h"
#include "observe/metrics.h"
#include "observe/queue_gauges.h"
#include "store/cluster_store.h"
#include "store/combiner.h"
#include "store/message_store.h"
#include "store/queue_store.h"
#include "store/schedule_store.h"
#include "store/task_store.h"
#include "store/token_store.h"

namespace horae {

// What the API depends on. All of it outlives the Api. The API wakes no loop itself: observers of the stores do.
struct ApiParts {
  Combiner& combiner;
  TaskStore& tasks;  // for reads
  QueueStore& queues;
  ScheduleStore& schedules;
  TokenStore& access;
  ClusterStore& cluster;
  EventRing& events;
  Claimer& claimer;
  const Clock& clock;
  Random& random;
  UuidSource& ids;
  Metrics& metrics;
  std::string node;  // its id: "worker-7"
  Logger log;
  std::function<DispatcherStatus()> scheduler_status = {};  // null: a node without slots
  std::function<Result<void>()> readiness = {};             // beside the store's check; null: always ready
  GateParts gate = {};
  MessageStore* messages = nullptr;     // with delay_queues
  DelayQueues* delay_queues = nullptr;  // null: none is configured
};

struct ApiOptions {
  int read_threads = 2;
  std::size_t max_waiting_reads = 256;  // beyond: 503
  CallerLimits token;                   // of each one
  GateOptions gate;
};

// handle() is thread-safe and never blocks; start(), end_waits() and stop() from one thread.
//
// To stop a node: end_waits(), then the server's stop(), then stop(), then the combiner and the engine.
class Api {
 public:
  explicit Api(ApiParts parts, ApiOptions options = {});
  ~Api();
  Api(const Api&) = delete;
  Api& operator=(const Api&) = delete;

  void start();

  // Answers all long polls now, and later ones without waiting.
  void end_waits() { parts_.claimer.end_calls(); }

  // The tokens have changed: answers the long polls, and ends the streams, of callers whose token was revoked or has
  // other rights now. Tasks that are leased for such a caller in this moment are released. Thread-safe.
  void end_revoked();

  // See Gate::is_current(). Thread-safe.
  bool is_current(const Principal& principal) const { return gate_.is_current(principal); }

  // Finishes the reads that are queued or under way.
  void stop();

  // For an HttpServer: who calls, and whether the body is worth reading.
  Admission admit(const HttpRequest& head);

  // The handler for an HttpServer, which may have asked admit() before.
  void handle(HttpRequest request, const Responder& responder);

  // For the routes.
  const ApiParts& parts() const { return parts_; }

  // For GET /readyz; something must run it once a second.
  Readiness& readiness() { return readiness_; }
  QueueGauges& queue_gauges() { return queue_gauges_; }

  // Runs `work` on a thread that may block on the store; answers 503 if too many reads are waiting.
  void read(const std::shared_ptr<Call>& call, std::function<void()> work);

  // The same; false, and `work` is not called, if too many reads are waiting.
  [[nodiscard]] bool try_read(const std::shared_ptr<Call>& call, std::function<void()> work);

  // Passes the call of a worker on to the claimer, where it may wait so long. `reply` answers it, unless its caller is
  // gone or its token was revoked meanwhile.
  using Reply = std::function<void(Claimer::Answer)>;
  void exchange(const std::shared_ptr<Call>& call, Claimer::Call wanted, Duration wait, Reply reply);

  // Tasks that were never started go back, which costs no try. If the release fails as well, the leases expire.
  void release(const ClaimWish& wish, std::vector<Settlement> releases, std::string_view reason);

 private:
  static GateParts gate_parts(const ApiParts& parts, GuessLimit& guesses);
  void audit(const Call& call, int status);
  void log_refusal(const Call& call, int status, std::string_view reason);
  void log_failure(const Call& call, int status, std::string_view reason);
  bool deliver(const Call& call, const std::optional<ClaimWish>& wish, Claimer::Answer answer, const Reply& reply);

  const ApiParts parts_;
  GuessLimit guesses_;
  const Gate gate_;
  CallerShares shares_;
  Readiness readiness_;
  RequestMeter requests_;
  QueueGauges queue_gauges_;
  LogRateLimiter refused_admin_{10};  // 4xx of admin calls
  LogRateLimiter refusals_{1};        // 401, 403 and 429 of other calls
  LogRateLimiter failures_{10};       // 500
  LogRateLimiter unavailable_{1};     // 503
  ReadPool pool_;
};

}  // namespace horae
