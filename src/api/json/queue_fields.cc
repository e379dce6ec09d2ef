#include "api/json/queue_fields.h"

namespace horae {
namespace {

constexpr std::array kSettingsRows = {
    written<&QueueSettings::paused>("paused", schema::kBoolean).required(),
    written<&QueueSettings::ageing_rate>(
        "ageing_rate",
        R"({"type":"integer","description":"Points of priority that a ready task gains per second; 0 is strict priority"})")
        .required(),
    written<&QueueSettings::retention>(
        "retention", R"({"$ref":"#/components/schemas/Duration","description":"How long finished tasks are kept"})")
        .required(),
};
static_assert(kSettingsRows.size() == member_count<QueueSettings>(), "a member of QueueSettings has no row");
constexpr auto kSettingsNames = names_of(kSettingsRows);

constexpr std::array kChangeRows = {
    accepted<&QueueChange::paused>("paused", schema::kBoolean),
    accepted<&QueueChange::ageing_rate>("ageing_rate", R"({"type":"integer","minimum":0,"maximum":1000000})"),
    accepted<&QueueChange::retention>("retention", schema::kDuration),
};
static_assert(kChangeRows.size() == member_count<QueueChange>(), "a member of QueueChange has no row");
constexpr auto kChangeNames = names_of(kChangeRows);

constexpr std::array kCountRows = {
    written<&QueueInfo::scheduled>("scheduled", schema::kInteger).required(),
    written<&QueueInfo::ready>("ready", schema::kInteger).required(),
    written<&QueueInfo::running>("running", schema::kInteger).required(),
    written<&QueueInfo::completed>("completed", schema::kInteger).required(),
    written<&QueueInfo::aborted>("aborted", schema::kInteger).required(),
    written<&QueueInfo::cancelled>("cancelled", schema::kInteger).required(),
    written<&QueueInfo::oldest_ready>(
        "oldest_ready",
        R"({"type":["string","null"],"description":"How long the task that is ready for the longest time has been so"})")
        .required(),
};
constexpr std::size_t kOtherMembers = 2;  // name and settings
static_assert(kCountRows.size() + kOtherMembers == member_count<QueueInfo>(), "a member of QueueInfo has no row");
constexpr auto kCountNames = names_of(kCountRows);

}  // namespace

constinit const FieldTable<QueueSettings> kQueueSettingsFields = {kSettingsRows, kSettingsNames};
constinit const FieldTable<QueueChange> kQueueChangeFields = {kChangeRows, kChangeNames};
constinit const FieldTable<QueueInfo> kQueueCountFields = {kCountRows, kCountNames};

}  // namespace horae
