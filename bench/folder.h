// A temporary folder for the databases of a bench, in the current folder, whose disk it measures.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace horae::bench {

// Removed with its content at the end of the scope.
class Folder {
 public:
  Folder() : path_(std::filesystem::current_path() / "horae-bench-XXXXXX") {
    HORAE_CHECK(mkdtemp(path_.data()) != nullptr, "cannot make a folder in the current folder");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // The path of a new database.
  std::string new_file() { return fmt::format("{}/{}.db", path_, ++files_); }

 private:
  std::string path_;
  int files_ = 0;
};

}  // namespace horae::bench
