#include "engine/slots/exchange.h"

#include <utility>

namespace horae {

Exchange exchange_through(Combiner& combiner) {
  return [&combiner](std::vector<Settlement> settlements, std::optional<ClaimWish> wish,
                     std::function<void(Exchanged)> done) {
    if (wish) return combiner.exchange(std::move(settlements), std::move(*wish), std::move(done));
    combiner.settle(std::move(settlements), [done = std::move(done)](std::vector<Result<SettleOutcome>> settled) {
      done({.settled = std::move(settled)});
    });
  };
}

}  // namespace horae
