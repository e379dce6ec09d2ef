// The configuration of a node: defaults that work, overridden by a TOML file, the environment and flags.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "agent/agent.h"
#include "api/access/rate_limit.h"
#include "api/api.h"
#include "app/delay_config.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/result.h"
#include "engine/engine.h"
#include "http/server.h"
#include "store/combiner.h"
#include "store/submission.h"
#include "stores/postgres/postgres_store.h"

namespace horae {

// The options of all parts of a node; their defaults are declared with the parts. The table in app/settings.cc defines
// the keys, the values that each allows and what it sets; for delay queues it is the one in app/delay_config.cc.
struct Config {
  std::string data = "horae-data";            // a folder
  std::string store = {};                     // a URL; after loading never empty: sqlite:DATA/horae.db by default
  Duration grace = std::chrono::seconds(10);  // for running tasks and open requests when the node stops
  LogOptions log = {};
  HttpServerOptions http = {};
  ApiOptions api = {};
  RateLimitOptions rate_limit = {};
  std::size_t max_queues = kMaxQueues;
  std::size_t max_queues_of_token = kMaxQueuesOfAToken;
  CombinerOptions combiner = {};
  EngineOptions engine = {};
  PostgresStoreOptions postgres = {};
  DelayConfig delay = {};
  agent::AgentOptions agent = {};  // of `horae agent run`, which uses `log` too, and nothing else
};

// The sources of values, each overriding the one before: the defaults, the file, the environment, the flags. A value is
// replaced as a whole, also a list.
struct ConfigSources {
  std::optional<std::string> file;                 // "horae.toml", which must exist
  std::map<std::string, std::string> environment;  // "HORAE_SLOTS_COUNT": "4"; names without HORAE_ are ignored
  std::map<std::string, std::string> flags;        // by key: "slots.count": "4"
};

// The file that is read by default, if it exists.
inline constexpr const char* kDefaultConfigFile = "horae.toml";

// Variables of the command line: they start with HORAE_ but are no settings.
inline constexpr std::string_view kConfigVariable = "HORAE_CONFIG";  // the file
inline constexpr std::string_view kNodeVariable = "HORAE_NODE";      // the node that client commands call
inline constexpr std::string_view kTokenVariable = "HORAE_TOKEN";    // the secret of their token
inline constexpr std::string_view kCaVariable = "HORAE_CA";          // a file with the certificates that they trust

// The environment variables of this process that start with HORAE_.
std::map<std::string, std::string> horae_environment();

// The file to read: `named` (by the flag) if not empty, else that of HORAE_CONFIG, else kDefaultConfigFile if it
// exists, else none.
std::optional<std::string> choose_config_file(const std::string& named,
                                              const std::map<std::string, std::string>& environment);

// The whole configuration. kMalformed for a file that is not TOML, for keys and variables that are unknown (the message
// suggests the nearest one) and for bad values (it names key, value, place and what is allowed); kNotFound for a
// missing file. The message lists all wrong keys and values, one line for each.
Result<Config> load_config(const ConfigSources& sources);

// The configuration as a TOML file with comments, which load_config() reads back to the same configuration. The URL of
// the store is printed as given, including a password.
std::string print_config(const Config& config);

// The reference of all settings in Markdown, docs/reference/configuration.md, generated from the same table.
std::string configuration_document();

}  // namespace horae
