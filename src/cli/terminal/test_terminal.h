// A user at a terminal, for tests: types command lines and reads the output.
#pragma once

#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "cli/commands.h"

namespace horae::cli {

struct Printed {
  int exit_code = -1;
  std::string out;
  std::string err;
};

class TestTerminal {
 public:
  // The environment of the following commands.
  std::map<std::string, std::string> environment;
  std::string input;
  bool out_has_colour = false;
  bool err_is_terminal = false;
  const Clock* clock = nullptr;  // of the following commands; nothing: the system's

  Printed type(const std::vector<std::string>& arguments) {
    std::istringstream in(input);
    std::ostringstream out;
    std::ostringstream err;
    Context context{.console = {.in = in,
                                .out = out,
                                .err = err,
                                .out_has_colour = out_has_colour,
                                .err_is_terminal = err_is_terminal},
                    .clock = clock != nullptr ? *clock : clock_,
                    .random = random_,
                    .environment = environment};
    const int exit_code = run(arguments, context);
    return {exit_code, out.str(), err.str()};
  }

 private:
  const SystemClock clock_{};
  SeededRandom random_{1};
};

}  // namespace horae::cli
