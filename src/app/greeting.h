// What `horae serve` prints when it has started: the addresses to open and commands to try.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/config.h"

namespace horae {

// The URLs that a browser can open, without repetition. A wildcard address (0.0.0.0, [::]) becomes loopback, for this
// machine, and the machine's name, for other machines.
std::vector<std::string> urls_to_open(const std::vector<std::string>& urls, std::string_view machine);

struct Greeting {
  std::string owner;              // the node's id
  std::string store;              // its description
  std::vector<std::string> urls;  // to open; at least one
  std::string program;            // as typed in this folder
};

std::string greeting(const Greeting& greeting, const Config& config);

}  // namespace horae
