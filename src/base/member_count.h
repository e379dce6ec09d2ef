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
  requires(!std::same_as<std::remove_cvref_t<V>, Whole>) operator V() const noexcept;
};

template <typename T, std::size_t... I>
constexpr bool can_have_members(std::index_sequence<I...> /*indices*/) {
  return requires { T{(static_cast<void>(I), AnyMember<T>())...}; };
}

// The number of members of the aggregate T, which has no base class, no array and at most `Most` members.
template <typename T, std::size_t Most = 40>
constexpr std::size_t member_count() {
  if constexpr (Most == 0 || can_have_members<T>(std::make_index_sequence<Most>())) {
    return Most;
  } else {
    return member_count<T, Most - 1>();
  }
}

}  // namespace horae
