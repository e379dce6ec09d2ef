// Reads the command tree: what is visible, what completes a line, what a typo may have meant.
#pragma once

#include <CLI/App.hpp>
#include <optional>
#include <string>
#include <vector>

namespace horae::cli {

// The commands directly below `app`, without hidden ones.
std::vector<const CLI::App*> visible_commands(const CLI::App& app);

// The candidates for the last word (maybe empty) of a command line that is being typed.
std::vector<std::string> complete(const CLI::App& app, const std::vector<std::string>& words);

// The existing flag or command nearest to the first unknown one of the command line.
std::optional<std::string> suggest(const CLI::App& app, const std::vector<std::string>& words);

// What is wrong with a command line that CLI11 refuses with the message `said`, in one line: names the command, the first
// word that it does not know, and where its help is.
std::string misuse_of(const CLI::App& app, const std::vector<std::string>& words, const std::string& said);

}  // namespace horae::cli
