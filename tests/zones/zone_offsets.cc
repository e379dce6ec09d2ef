// Prints the offsets of each time zone: "NAME begin offset [begin offset ...]", in seconds, for the spans from 2025 to the
// end of 2045. tests/zones/compare_zones.py compares them with those of Python.
#include <iostream>

#include "base/zone/zone.h"

int main() {
  using namespace std::chrono;
  constexpr horae::UtcSeconds kFrom = sys_days(2025y / 1 / 1);
  constexpr horae::UtcSeconds kUntil = sys_days(2046y / 1 / 1);
  for (const std::string& name : horae::system_zones().names()) {
    const auto zone = horae::system_zones().find(name).value();
    std::cout << name;
    horae::ZoneSpan span = zone->span_at(kFrom);
    std::cout << ' ' << kFrom.time_since_epoch().count() << ' ' << span.offset.count();
    while (span.end < kUntil) {
      span = zone->span_at(span.end);
      std::cout << ' ' << span.begin.time_since_epoch().count() << ' ' << span.offset.count();
    }
    std::cout << '\n';
  }
}
