// A schedule as text: how stores keep it. They decide nothing by it, so its parts are no columns.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/schedule.h"

namespace horae {

// The names of rules, as clients and stores write them: "next", "cancel_previous". parse_rule() gives nothing for
// another name.
std::string_view to_string(GapRule rule);
std::string_view to_string(FoldRule rule);
std::string_view to_string(MissedRule rule);
std::string_view to_string(OverlapRule rule);

template <typename Rule>
std::optional<Rule> parse_rule(std::string_view name) {
  for (int i = 0; i < 3; ++i) {
    if (to_string(static_cast<Rule>(i)) == name) return static_cast<Rule>(i);
  }
  return std::nullopt;
}

// All of it but its name and whether it is paused. The same schedule always gives the same text.
std::string to_text(const NewSchedule& schedule);

// The schedule again. kInternal for text that to_text() does not write.
Result<NewSchedule> schedule_of(std::string name, bool paused, std::string_view text);

}  // namespace horae
