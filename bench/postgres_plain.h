// The plain layout of most queues on PostgreSQL, as the reference to beat: one hot row for each task, UPDATE to claim,
// and an archive for finished rows.
#pragma once

#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "bench/postgres_yardstick.h"

namespace horae::bench {

class PostgresPlain final : public PostgresYardstick {
 public:
  // Recreates the schema bench_plain, empty.
  static void create_tables(const std::string& url);

  PostgresPlain(const std::string& url, std::string_view owner);

  void submit(std::span<const YardstickTask> tasks) override;
  std::vector<YardstickClaim> claim(int max) override;
  void complete(std::span<const YardstickClaim> tasks) override;
  std::vector<YardstickClaim> exchange(std::span<const YardstickClaim> done, std::span<const YardstickTask> tasks,
                                       int max) override;

 private:
  BareRows send_submit(std::span<const YardstickTask> tasks);
  BareRows send_claim(int max);
  BareRows send_complete(std::span<const YardstickClaim> tasks);

  BareConnection connection_;
  std::string owner_;
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
};

}  // namespace horae::bench
