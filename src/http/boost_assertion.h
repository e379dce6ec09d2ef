// Assertions of Boost as exceptions (docs/internals/adr/0014-assertions-of-beast.md). Private to the server.
#pragma once

#ifndef BOOST_ENABLE_ASSERT_HANDLER
#error "link Boost::headers: CMakeLists.txt gives its users this definition, and all of them must have it"
#endif

#include <stdexcept>

namespace horae {

// Thrown where BOOST_ASSERT or BOOST_VERIFY fails, in every build. What was asserted about is in an unknown state and
// can only be destroyed.
class BoostAssertion : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

}  // namespace horae
