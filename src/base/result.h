// Errors as values. Functions that can fail in normal operation return Result<T>; see
// docs/internals/adr/0002-errors-are-values.md.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/check.h"

namespace horae {

// A small closed set: programs decide by the code, people read the message.
enum class ErrorCode {
  kMalformed,        // the input cannot be parsed: bad syntax, wrong type, out of the representable range
  kRefused,          // the input is well formed, but not allowed
  kNotFound,         // the named thing does not exist
  kConflict,         // clashes with stored data: another body under the same key, a stale attempt, a wrong state
  kUnauthenticated,  // the request carries no valid credentials
  kForbidden,        // the caller is authenticated, but lacks the permission
  kOverLimit,        // a named limit is reached for now
  kUnavailable,      // a required service is down; the outcome of the call may be unknown
  kInternal,         // a bug or damaged data
};

// "malformed", "not_found", ...: stable names for logs and problem details.
std::string_view to_string(ErrorCode code);

// True if the same call may succeed later, unchanged. After kUnavailable the first call may have taken effect: retry
// with the same ids and tokens.
bool is_retryable(ErrorCode code);

struct Error {
  ErrorCode code;
  std::string message;  // what was tried, on which id, and what to change

  bool retryable() const { return is_retryable(code); }
  friend bool operator==(const Error&, const Error&) = default;
};

// Aborts with the message of `error`. Out of line, because GCC 12 with sanitizers warns of a possibly uninitialized
// message where Result reads it inline.
[[noreturn]] void value_of_failure_taken(const Error& error);

// A value, or the error that explains why there is none. Taking the value of a failure aborts the program, so check
// ok() first. From a temporary the value is moved out, so that `for (auto& x : call().value())` does not iterate over a
// destroyed object:
//
//   Result<Task> task = store.get(id);
//   if (!task.ok()) return task.error();
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : held_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : held_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return held_.index() == 0; }

  const T& value() const& { return std::get<0>(checked()); }
  T& value() & { return std::get<0>(checked()); }
  T value() && { return std::get<0>(std::move(checked())); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  T operator*() && { return std::move(*this).value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  const Error& error() const& {
    HORAE_CHECK(!ok(), "error() of a success");
    return std::get<1>(held_);
  }
  Error&& error() && {
    HORAE_CHECK(!ok(), "error() of a success");
    return std::get<1>(std::move(held_));
  }

 private:
  using Held = std::variant<T, Error>;

  const Held& checked() const {
    if (!ok()) value_of_failure_taken(std::get<1>(held_));
    return held_;
  }
  Held& checked() { return const_cast<Held&>(std::as_const(*this).checked()); }

  Held held_;
};

// Success without a value, or an error.
template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  const Error& error() const {
    HORAE_CHECK(!ok(), "error() of a success");
    return *error_;
  }

 private:
  std::optional<Error> error_;
};

}  // namespace horae
