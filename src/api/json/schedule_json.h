// Schedules and their fires as JSON.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/json/fields.h"
#include "base/result.h"
#include "base/zone/zone.h"
#include "model/schedule.h"
#include "store/schedule_store.h"

namespace horae {

extern const FieldTable<ScheduleRules> kScheduleRulesFields;  // beside "task" and "paused"

// The body that defines a schedule. kMalformed or kRefused; the error names the field.
Result<NewSchedule> read_schedule(std::string name, std::string_view body, const ZoneDatabase& zones);

// As it is stored, with the expression in words and the time of the next fire.
void append_schedule(std::string& out, const Schedule& schedule, const ZoneDatabase& zones);

// {"at","last","count","task","skipped"}
void append_fire(std::string& out, const FireRecord& fire);

// {"words","fires":[{"at","run_at"}]}
std::string preview_json(const NewSchedule& schedule, const Timetable& timetable, const std::vector<Instant>& fires);

}  // namespace horae
