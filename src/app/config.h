// What a node is told about itself: a TOML file, the environment and flags, on top of defaults that work.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "engine/engine.h"
#include "api/api.h"
#include "api/access/rate_limit.h"
#include "http/server.h"
#include "store/combiner.h"
#include "stores/postgres/postgres_store.h"

namespace horae {

// The options of the parts of a node, whose defaults stand where the parts are declared. Which keys there are, what
// each allows and what it sets is the table in app/settings.cc.
struct Config {
  std::string data = "horae-data";  // a folder
  std::string store = {};           // a URL; once loaded never empty: sqlite:DATA/horae.db if nobody says otherwise
  Duration grace = std::chrono::seconds(10);  // for what runs, when the node stops
  LogOptions log = {};
  HttpServerOptions http = {};
  ApiOptions api = {};
  RateLimitOptions rate_limit = {};
  CombinerOptions combiner = {};
  EngineOptions engine = {};
  PostgresStoreOptions postgres = {};
};

// Where values come from. What a later one says replaces what an earlier one said, whole:
//   the defaults, the file, the environment, the flags.
struct ConfigSources {
  std::optional<std::string> file;                 // "horae.toml", which must exist
  std::map<std::string, std::string> environment;  // "HORAE_SLOTS_COUNT": "4"; names without HORAE_ are passed over
  std::map<std::string, std::string> flags;        // by key: "slots.count": "4"
};

// The file that is read if nobody names one, and only if it exists.
inline constexpr const char* kDefaultConfigFile = "horae.toml";

// Variables that start with HORAE_ and are no settings: of the command line.
inline constexpr std::string_view kConfigVariable = "HORAE_CONFIG";  // the file
inline constexpr std::string_view kNodeVariable = "HORAE_NODE";      // the node that client commands talk to
inline constexpr std::string_view kTokenVariable = "HORAE_TOKEN";    // the secret that they show to it
inline constexpr std::string_view kCaVariable = "HORAE_CA";          // who vouches for it: a file of certificates

// The environment of this process, as far as its names start with HORAE_.
std::map<std::string, std::string> horae_environment();

// The file to read: what was named by the flag (if not empty), else by HORAE_CONFIG, else kDefaultConfigFile if it
// exists, else none.
std::optional<std::string> choose_config_file(const std::string& named,
                                              const std::map<std::string, std::string>& environment);

// The whole configuration. kMalformed for a file that is not TOML, for keys and variables that are unknown (the message
// suggests the nearest one) and for bad values (it names key, value, place and what is allowed); kNotFound for a file
// that is not there. All that is wrong with keys and values is told at once, a line for each.
Result<Config> load_config(const ConfigSources& sources);

// The configuration as a TOML file with comments, which load_config() reads back to the same. It has the URL of the
// store as it was given, also with a password.
std::string print_config(const Config& config);

// docs/reference/configuration.md, made from the same table.
std::string configuration_document();

}  // namespace horae
