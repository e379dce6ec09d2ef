// The command line: one binary, noun and verb.

#include <exception>
#include <iostream>

#include "app/config.h"
#include "cli/commands.h"

// The boundary for exceptions of third-party code: none escapes.
int main(int argc, char** argv) {
  try {
    const horae::SystemClock clock;
    horae::SystemRandom random;
    horae::cli::Context context{.console = horae::cli::system_console(),
                                .clock = clock,
                                .random = random,
                                .environment = horae::horae_environment()};
    return horae::cli::run({argv + 1, argv + argc}, context);
  } catch (const std::exception& exception) {
    std::cerr << "horae: " << exception.what() << '\n';
    return horae::cli::kFailed;
  }
}
