// The planted bugs: each is a failure known from a real system (see the list in mutants.cc).
#pragma once

#include <span>
#include <string_view>

namespace horae::sim {

struct Mutant {
  enum class Harm {
    kSafety,    // something wrong is accepted, lost or done twice
    kLiveness,  // something is done late or never
  };
  std::string_view name;
  Harm harm;
  std::string_view failure;  // a description of what it causes
  bool is_in_delay = false;  // in the delay queue: worlds with one find it
};

std::span<const Mutant> mutants();

// Activates a mutant; "" for none. False if its name is unknown.
bool plant(std::string_view name);

// Some mutants split one step into two, which is visible only if a crash follows. They are active only in such calls.
void arm_crash_mutant(bool crash_follows);

}  // namespace horae::sim
