// The limit on open files of this process, and thus on connections.
#pragma once

#include <cstddef>

namespace horae {

// Raises the limit as far as the system allows without privileges, and returns it.
std::size_t raise_file_limit();

// The number of client connections that fit below a limit, beside the files that the rest of a node needs.
std::size_t connections_within(std::size_t files);

}  // namespace horae
