// Cron expressions. What is read has fires that ascend, and each is found from both sides.
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "laws.h"
#include "model/cron.h"
#include "model/fires.h"

namespace horae {
namespace {

constexpr int kFires = 5;
constexpr std::size_t kLongestWords = 4096;

void require_laws_of_fires(const CronExpression& cron) {
  static const auto zone = system_zones().find("UTC").value();
  const CalendarRule rule{cron};
  Instant last = std::chrono::sys_days(std::chrono::year(2025) / 1 / 1);
  for (int i = 0; i < kFires; ++i) {
    const auto fire = next_fire(rule, *zone, last);
    HORAE_CHECK(fire.has_value() && *fire > last, "an expression that is accepted fires, and fires ascend");
    HORAE_CHECK(i == 0 || previous_fire(rule, *zone, *fire) == last, "the fire before the next one is this one");
    HORAE_CHECK(matches(cron, LocalSeconds(std::chrono::floor<std::chrono::seconds>(*fire).time_since_epoch())),
                "a fire is a time that matches");
    last = *fire;
  }
}

}  // namespace
}  // namespace horae

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto cron = horae::parse_cron({reinterpret_cast<const char*>(data), size});
  if (!cron.ok()) {
    horae::require_good_refusal(cron.error());
    return 0;
  }
  horae::require_laws_of_fires(*cron);
  const std::string words = horae::in_words(*cron);
  HORAE_CHECK(!words.empty() && words.size() < horae::kLongestWords, "the words of an expression have a limit");
  return 0;
}
