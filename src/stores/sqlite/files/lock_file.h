// A file that only one process can hold: it keeps a second node away from an embedded database.
#pragma once

#include <string>

#include "base/result.h"

namespace horae::sqlite {

// Held from take() until destruction. The kernel releases it when the process dies, however it dies; the file itself
// stays. Only its owner may read and write it.
class LockFile {
 public:
  // kConflict, with the process id of the holder, if another process (or this one) holds it.
  static Result<LockFile> take(const std::string& path);

  LockFile(LockFile&& other) noexcept;
  LockFile& operator=(LockFile&&) = delete;
  ~LockFile();

 private:
  explicit LockFile(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace horae::sqlite
