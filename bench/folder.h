// A folder for the databases of a bench, on the disk that it measures: the one of the current folder.
#pragma once

#include <fmt/format.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/check.h"

namespace horae::bench {

// Gone, with all that is in it, when this is.
class Folder {
 public:
  Folder() : path_(std::filesystem::current_path() / "horae-bench-XXXXXX") {
    HORAE_CHECK(mkdtemp(path_.data()) != nullptr, "a bench needs a folder on the disk that it measures");
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  // The path of a database that is not there yet.
  std::string new_file() { return fmt::format("{}/{}.db", path_, ++files_); }

 private:
  std::string path_;
  int files_ = 0;
};

}  // namespace horae::bench
