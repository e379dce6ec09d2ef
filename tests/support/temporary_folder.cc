#include "tests/support/temporary_folder.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/check.h"

namespace horae::testing {

TemporaryFolder::TemporaryFolder() {
  path_ = (std::filesystem::temp_directory_path() / "horae-XXXXXX").string();
  HORAE_CHECK(mkdtemp(path_.data()) != nullptr, "cannot make a temporary folder");
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace horae::testing
