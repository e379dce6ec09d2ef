// How the value of a setting is written.
#pragma once

namespace horae {

// How a value is written in TOML. In the environment and in flags it is the same without quotes, and the items of a
// list have commas between them.
enum class SettingKind { kText, kDuration, kNumber, kBool, kList };

}  // namespace horae
