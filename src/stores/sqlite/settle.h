// What owners say about their attempts, and what clients cancel.
#pragma once

#include <span>
#include <vector>

#include "store/lease.h"
#include "stores/sqlite/life.h"
#include "stores/sqlite/writer.h"

namespace horae::sqlite {

class Settler {
 public:
  Settler(Writer& writer, Lives& lives);

  // Inside a transaction.
  std::vector<SettleOutcome> settle(std::span<const Settlement> settlements, Change& change);
  std::vector<CancelOutcome> cancel(std::span<const CancelWish> wishes, Change& change);

 private:
  SettleOutcome settle_one(const Settlement& settlement, Change& change);

  // Each applies one accepted event to `life` and answers with the state that follows.
  State heartbeat(const Life& life, const Settlement& settlement, Change& change);
  State complete(const Life& life, const Settlement& settlement, Change& change);
  State abort(const Life& life, const Settlement& settlement, Change& change);
  State yield(const Life& life, const Settlement& settlement, Change& change);
  State release(const Life& life, Change& change);

  // The next turn of a recurring task, or the next try of an aborted one, `delay` from now.
  void schedule_again(const Life& life, Event event, Duration delay, int tries, Change& change);

  void keep_late_result(const Life& life, const Settlement& settlement, Change& change);
  CancelOutcome cancel_one(const CancelWish& wish, Change& change);

  Lives& lives_;
  Statement heartbeat_;
  Statement set_progress_;
  Statement set_checkpoint_flag_;
  Statement finish_;
  Statement schedule_;
  Statement set_result_;
  Statement give_back_;
  Statement cancel_;
};

}  // namespace horae::sqlite
