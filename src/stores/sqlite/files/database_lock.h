// Keeps a second node away from an embedded database, whatever name it is opened by.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/result.h"
#include "stores/sqlite/files/lock_file.h"

namespace horae::sqlite {

// Two locks: on a file beside the database, which names the process that holds it, and on the file of the database
// itself, which is the same for a symbolic link, for a hard link in another folder and after a rename.
//
// SQLite drops its own locks on a file as soon as this process closes any descriptor of it. So the lock is to be taken
// before the database is opened, and released after it is closed; and a database that this process has locked already
// is refused without opening its file.
//
// The kernel releases both locks when the process dies, however it dies.
class DatabaseLock {
 public:
  // Makes an empty file where there is none. kConflict if another process, or this one, has the database locked.
  // kRefused if the file has further names: SQLite keeps its journal beside the name by which it was opened, so a crash
  // under one name and a start under another one would lose acknowledged tasks.
  static Result<DatabaseLock> take(const std::string& path);

  DatabaseLock(DatabaseLock&& other) noexcept
      : beside_(std::move(other.beside_)),
        file_(std::move(other.file_)),
        descriptor_(std::exchange(other.descriptor_, -1)) {}
  DatabaseLock& operator=(DatabaseLock&&) = delete;
  ~DatabaseLock();

 private:
  using File = std::pair<dev_t, ino_t>;

  DatabaseLock(LockFile beside, File file, int descriptor)
      : beside_(std::move(beside)), file_(file), descriptor_(descriptor) {}

  LockFile beside_;
  File file_;
  int descriptor_ = -1;
};

}  // namespace horae::sqlite
