#include "http/boost_assertion.h"

#include <fmt/format.h>

#include <boost/assert.hpp>

namespace boost {

void assertion_failed(const char* expression, const char* /*function*/, const char* file, long line) {
  throw horae::BoostAssertion(fmt::format("{} at {}:{}", expression, file, line));
}

void assertion_failed_msg(const char* expression, const char* message, const char* /*function*/, const char* file,
                          long line) {
  throw horae::BoostAssertion(fmt::format("{} ({}) at {}:{}", expression, message, file, line));
}

}  // namespace boost
