#include "tests/e2e/page.h"

#include <fstream>

namespace horae::testing {

std::vector<std::string> blocks_of(const std::string& page, const std::string& language) {
  std::ifstream lines(HORAE_SOURCE_DIR "/docs/" + page);
  std::vector<std::string> blocks;
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```" + language) {
      is_inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      is_inside = false;
    } else if (is_inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

}  // namespace horae::testing
