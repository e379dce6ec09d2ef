// Planted bugs: switches that exist in the simulator's build only. Everywhere else the condition is the constant false,
// and the compiler removes what stands behind it.
//
//   if (HORAE_MUTANT("complete_over_cancel")) ...
//
// tests/sim/mutants.cc lists them with the failure that each one is; `make sim/mutants` shows that each is found.
#pragma once

#ifdef HORAE_MUTANTS

#include <cstdint>
#include <string_view>

namespace horae {

// The same number for the same name (FNV-1a), so that asking costs one comparison.
constexpr std::uint64_t mutant_number(std::string_view name) {
  std::uint64_t hash = 14695981039346656037U;
  for (const char character : name) hash = (hash ^ static_cast<unsigned char>(character)) * 1099511628211U;
  return hash;
}

// The mutant that lives now, 0 if none does. The simulator has one thread.
inline std::uint64_t living_mutant = 0;

}  // namespace horae

#define HORAE_MUTANT(name) (::horae::living_mutant == ::horae::mutant_number(name))

#else

#define HORAE_MUTANT(name) false

#endif
