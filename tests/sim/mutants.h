// The planted bugs: each is a failure that happened to somebody (see the list in mutants.cc).
#pragma once

#include <span>
#include <string_view>

namespace horae::sim {

struct Mutant {
  enum class Harm {
    kSafety,    // something false is accepted, lost or done twice
    kLiveness,  // something is done late or never
  };
  std::string_view name;
  Harm harm;
  std::string_view failure;  // what it does, in words
};

std::span<const Mutant> mutants();

// From now on this one lives; "" for none. False if there is no such mutant.
bool plant(std::string_view name);

// What a crash between two steps would leave can be seen only where a crash follows. A mutant of that kind sleeps
// during all other calls.
void arm_crash_mutant(bool crash_follows);

}  // namespace horae::sim
