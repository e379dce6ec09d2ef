// How many members a struct has, so that a list of them can refuse to compile when it lacks one:
//
//   static_assert(kRows.size() == member_count<Task>(), "a member of Task has no row");
#pragma once

#include <concepts>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace horae {

// Converts to the type of any member, but not to the whole, which would be a copy. Never called.
template <typename Whole>
struct AnyMember {
  template <typename V>
  // NOLINTNEXTLINE(google-explicit-constructor): the conversion is its purpose
  requires(!std::same_as<std::remove_cvref_t<V>, Whole>) operator V() const noexcept;
};

template <typename T, std::size_t... kIndices>
constexpr bool can_have_members(std::index_sequence<kIndices...> /*indices*/) {
  return requires { T{(static_cast<void>(kIndices), AnyMember<T>())...}; };
}

// The number of members of the aggregate T, which has no base class, no array and at most `kMost` members.
template <typename T, std::size_t kMost = 40>
constexpr std::size_t member_count() {
  if constexpr (kMost == 0 || can_have_members<T>(std::make_index_sequence<kMost>())) {
    return kMost;
  } else {
    return member_count<T, kMost - 1>();
  }
}

}  // namespace horae
