// The lower bound for the PostgreSQL store: the layout "ranges that move" with its bare statements.
//
// Without the parts that the contract adds and the store pays for: keys, options, history, separate results, pauses, and
// ranks computed by the store.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/random.h"
#include "base/uuid.h"
#include "bench/postgres_yardstick.h"

namespace horae::bench {

class PostgresFloor final : public PostgresYardstick {
 public:
  // Recreates the schema bench_floor, empty, with today's partitions.
  static void create_tables(const std::string& url);

  // A claim deletes up to `max_runs` runs from their table and inserts the rest again; meanwhile other claims cannot see
  // them. So a small number is best: somewhat more than a batch makes, which is one for each priority in it. With four
  // priorities, four connections and batches of 100, 100 runs instead of 8 cost a third more WAL and cause a backlog.
  PostgresFloor(const std::string& url, std::string_view owner, int max_runs = 8);

  void submit(std::span<const YardstickTask> tasks) override;
  std::vector<YardstickClaim> claim(int max) override;
  void complete(std::span<const YardstickClaim> tasks) override;
  std::vector<YardstickClaim> exchange(std::span<const YardstickClaim> done, std::span<const YardstickTask> tasks,
                                       int max) override;

 private:
  BareRows send_submit(std::span<const YardstickTask> tasks);
  BareRows send_claim(int max);
  BareRows send_complete(std::span<const YardstickClaim> tasks);

  // The numbers that are left without a call to the server.
  void reserve_numbers(std::int64_t count);

  // The first of `count` consecutive numbers. Drops the rest of a block that is too small for them.
  std::int64_t take_numbers(std::int64_t count);

  BareConnection connection_;
  std::string owner_;
  int max_runs_;
  SystemClock clock_;
  SystemRandom random_;
  UuidSource ids_{clock_, random_};
  std::int64_t next_number_ = 0;
  std::int64_t end_of_block_ = 0;
};

}  // namespace horae::bench
