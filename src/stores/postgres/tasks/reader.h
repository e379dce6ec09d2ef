// Reads tasks: by id, by key, in lists.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "store/list.h"
#include "stores/postgres/connection/pool.h"

namespace horae::postgres {

// Thread-safe.
class Reader {
 public:
  explicit Reader(Pool& pool) : pool_(pool) {}

  Result<std::vector<std::optional<Task>>> get(std::span<const TaskId> ids);
  Result<std::optional<Task>> find(std::string_view queue, std::string_view key);
  Result<Page> list(const ListQuery& query);

 private:
  Pool& pool_;
};

}  // namespace horae::postgres
