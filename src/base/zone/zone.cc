#include "base/zone/zone.h"

#include <absl/time/civil_time.h>
#include <absl/time/time.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <numeric>
#include <sstream>
#include <utility>

#include "base/quote.h"

namespace horae {
namespace {

using std::chrono::seconds;

constexpr std::string_view kUtc = "UTC";
constexpr std::size_t kLongestName = 64;  // of what is compared with the known names; the longest known one has 30

class AbslZone final : public Zone {
 public:
  AbslZone(std::string name, absl::TimeZone zone) : name_(std::move(name)), zone_(zone) {}

  std::string_view name() const override { return name_; }

  ZoneSpan span_at(UtcSeconds at) const override {
    const absl::Time time = absl::FromUnixSeconds(at.time_since_epoch().count());
    ZoneSpan span{.offset = seconds(zone_.At(time).offset)};
    absl::TimeZone::CivilTransition change;
    // PrevTransition() looks strictly before whole seconds, and a change at `at` itself begins this span.
    if (zone_.PrevTransition(time + absl::Seconds(1), &change)) {
      span.begin = std::max(span.begin, utc_of(change.to, span.offset));
    }
    if (zone_.NextTransition(time, &change)) span.end = std::min(span.end, utc_of(change.from, span.offset));
    return span;
  }

 private:
  static UtcSeconds utc_of(absl::CivilSecond civil, seconds offset) {
    return UtcSeconds(seconds(civil - absl::CivilSecond(1970))) - offset;
  }

  std::string name_;
  absl::TimeZone zone_;
};

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

// How many characters must be put in, left out, exchanged or swapped with their neighbour to make one of the other,
// regardless of case.
std::size_t edits_between(std::string_view one, std::string_view other) {
  std::vector<std::size_t> before_last;
  std::vector<std::size_t> last(other.size() + 1);
  std::iota(last.begin(), last.end(), std::size_t{0});
  for (std::size_t i = 1; i <= one.size(); ++i) {
    std::vector<std::size_t> row(other.size() + 1, i);
    for (std::size_t j = 1; j <= other.size(); ++j) {
      const bool same = lower(one[i - 1]) == lower(other[j - 1]);
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (same ? 0U : 1U)});
      if (i > 1 && j > 1 && lower(one[i - 1]) == lower(other[j - 2]) && lower(one[i - 2]) == lower(other[j - 1])) {
        row[j] = std::min(row[j], before_last[j - 2] + 1);
      }
    }
    before_last = std::exchange(last, std::move(row));
  }
  return last.back();
}

// "Berlin" of "Europe/Berlin".
std::string_view place_of(std::string_view name) { return name.substr(name.rfind('/') + 1); }

std::string system_folder() {
  const char* named = std::getenv("TZDIR");  // NOLINT(concurrency-mt-unsafe): nothing here sets the environment
  return named != nullptr && *named != '\0' ? named : "/usr/share/zoneinfo";
}

}  // namespace

ZoneDatabase::ZoneDatabase(const std::string& folder) : folder_(folder) {
  // Zones are lines "Z NAME ...", links "L TARGET NAME"; the first line is "# version 2025b".
  std::ifstream file(folder + "/tzdata.zi");
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string kind;
    std::string first;
    std::string second;
    words >> kind >> first >> second;
    if (kind == "#" && first == "version") version_ = second;
    if (kind == "Z") names_.push_back(first);
    if (kind == "L") names_.push_back(second);
  }
  std::ranges::sort(names_);
}

Result<std::shared_ptr<const Zone>> ZoneDatabase::find(std::string_view name) const {
  // Only known names reach the library: it takes a path for a name, and keeps each name forever, also a wrong one.
  if (name != kUtc && !std::ranges::binary_search(names_, name)) {
    if (names_.empty()) {
      return Error{ErrorCode::kRefused,
                   fmt::format("zone {}: there is no time zone database in {}; install tzdata, or use UTC", quote(name),
                               folder_)};
    }
    const std::string similar = nearest(name);
    const std::string hint = similar.empty() ? "give a name such as Europe/Berlin or UTC" : "is " + similar + " meant?";
    return Error{ErrorCode::kRefused, fmt::format("zone {}: there is no such time zone in the database {}; {}",
                                                  quote(name), version_, hint)};
  }
  absl::TimeZone zone = absl::UTCTimeZone();
  if (name != kUtc && !absl::LoadTimeZone(std::string(name), &zone)) {
    return Error{ErrorCode::kRefused, fmt::format("zone {}: its file in {} is missing or damaged; install tzdata again",
                                                  quote(name), folder_)};
  }
  return std::shared_ptr<const Zone>(std::make_shared<AbslZone>(std::string(name), zone));
}

std::string ZoneDatabase::nearest(std::string_view name) const {
  if (name.empty() || name.size() > kLongestName) return "";
  std::string_view best;
  std::size_t fewest = std::numeric_limits<std::size_t>::max();
  for (const std::string& known : names_) {
    // A place without its region ("Berlin") is compared with places.
    const bool place_only = name.find('/') == std::string_view::npos;
    const std::size_t edits = edits_between(name, place_only ? place_of(known) : std::string_view(known));
    if (edits < fewest) {
      fewest = edits;
      best = known;
    }
  }
  return fewest <= name.size() / 3 ? std::string(best) : "";
}

const ZoneDatabase& system_zones() {
  static const ZoneDatabase zones(system_folder());
  return zones;
}

}  // namespace horae
