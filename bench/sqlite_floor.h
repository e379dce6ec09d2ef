// The lower bound for the embedded store: the same rows in the same tables by bare sqlite3, without any decisions,
// returning only the claimed specs.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "store/submission.h"

namespace horae::bench {

class SqliteFloor {
 public:
  // Creates a database file with the store's schema and settings.
  explicit SqliteFloor(const std::string& path);
  ~SqliteFloor();

  // Each is one transaction.
  void submit(std::span<const Submission> submissions);
  std::vector<std::int64_t> claim(int max);  // reads id and spec of each, as a claim must
  void complete(std::span<const std::int64_t> numbers);

 private:
  struct Handles;
  std::unique_ptr<Handles> handles_;
  std::int64_t next_number_ = 1;
  std::int64_t now_ = 1'700'000'000'000'000;
};

}  // namespace horae::bench
