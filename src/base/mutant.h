// Planted bugs: switches that exist only in the simulator's build. Everywhere else the condition is the constant false,
// and the compiler removes the branch.
//
//   if (HORAE_MUTANT("complete_over_cancel")) ...
//
// tests/sim/mutants.cc lists them with the failure that each one causes; `make sim/mutants` checks that the simulator
// finds each of them.
#pragma once

#ifdef HORAE_MUTANTS

#include <cstdint>
#include <string_view>

namespace horae {

// FNV-1a of the name, a compile-time constant: checking a switch costs one comparison.
constexpr std::uint64_t mutant_number(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char character : name) hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211U;
  return hash;
}

// The number of the active mutant; 0 if none is. Not thread-safe: the simulator has one thread.
inline std::uint64_t active_mutant = 0;

}  // namespace horae

#define HORAE_MUTANT(name) (::horae::active_mutant == ::horae::mutant_number(name))

#else

#define HORAE_MUTANT(name) false

#endif
