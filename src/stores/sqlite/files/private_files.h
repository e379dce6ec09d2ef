// Keeps other users of the machine away from the files of a database.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"

namespace horae::sqlite {

inline constexpr unsigned kPrivateMode = 0600;

// kRefused, with what to do, if every user may replace files in the folder of the database, or if the database belongs
// to another user. Neither the folder nor the database need exist.
Result<void> check_place(const std::string& path);

// Creates the file of a database, if there is none, for its owner only; to be called before SQLite does.
Result<void> create_private(const std::string& path);

// Takes the rights of others to the database and its journal away (mode 0600), of those files that exist. What SQLite
// creates later has the mode of the database.
Result<void> make_private(const std::string& path);

// What a person should know about the folder of a database although it is accepted: its group may write to it. Nothing
// if that is not so.
std::optional<std::string> folder_warning(const std::string& path);

}  // namespace horae::sqlite
