// How many files, and thus connections, this process may have open.
#pragma once

#include <cstddef>

namespace horae {

// Raises the limit as far as the system allows without special rights; answers what holds now.
std::size_t raise_file_limit();

// How many connections of clients fit below a limit, beside the files that the rest of a node needs.
std::size_t connections_within(std::size_t files);

}  // namespace horae
