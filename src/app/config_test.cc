#include "app/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <set>

#include "app/open_store.h"
#include "app/settings.h"
#include "tests/support/temporary_folder.h"

namespace horae {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::TestWithParam;
using ::testing::Values;

using KeyValues = std::map<std::string, std::string>;

class ConfigTest : public ::testing::Test {
 protected:
  ConfigSources with_file(const std::string& text) {
    std::ofstream(path_) << text;
    return {.file = path_, .environment = {}, .flags = {}};
  }

  std::string error_of(const ConfigSources& sources) {
    const auto config = load_config(sources);
    return config.ok() ? "no error" : config.error().message;
  }

  const testing::TemporaryFolder folder_;
  const std::string path_ = folder_.path() + "/horae.toml";
};

// All settings as text, which is what their equality means.
std::vector<std::string> all_of(const Config& config) {
  std::vector<std::string> all;
  for (const Setting& setting : settings()) all.push_back(setting.key + "=" + join_items(setting.write(config)));
  return all;
}

TEST_F(ConfigTest, UsesDefaultsWithoutAnySource) {
  const auto config = load_config({});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->store, kDefaultStore);
  EXPECT_THAT(config->http.listen, ElementsAre("127.0.0.1:3369"));
  EXPECT_EQ(config->engine.dispatcher.slots, 8U);
  EXPECT_THAT(config->engine.dispatcher.queues, ElementsAre("tms", "demo"));
  EXPECT_EQ(config->engine.dispatcher.lease, std::chrono::seconds(10));
  EXPECT_EQ(config->engine.dispatcher.dispatch_interval, std::chrono::milliseconds(50));
  EXPECT_EQ(config->engine.dispatcher.elevator_interval, std::chrono::seconds(1));
  EXPECT_EQ(config->engine.poller.poll, std::chrono::seconds(1));
  EXPECT_EQ(config->engine.poller.poll_deaf, std::chrono::milliseconds(100));
  EXPECT_EQ(config->grace, std::chrono::seconds(10));
}

TEST_F(ConfigTest, PrefersFlagsToTheEnvironmentAndThatToTheFile) {
  ConfigSources sources = with_file("[slots]\ncount = 1\nahead = 1\nlease = \"1s\"\n");
  sources.environment = {{"HORAE_SLOTS_COUNT", "2"}, {"HORAE_SLOTS_AHEAD", "2"}};
  sources.flags = {{"slots.count", "3"}};
  const auto config = load_config(sources);
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->engine.dispatcher.slots, 3U);
  EXPECT_EQ(config->engine.dispatcher.ahead, 2U);
  EXPECT_EQ(config->engine.dispatcher.lease, std::chrono::seconds(1));
}

TEST_F(ConfigTest, ReplacesListsAsAWholeAndSplitsThemAtCommas) {
  ConfigSources sources = with_file("slots.queues = [\"a\", \"b\"]\n");
  EXPECT_THAT(load_config(sources)->engine.dispatcher.queues, ElementsAre("a", "b"));
  sources.environment = {{"HORAE_SLOTS_QUEUES", "c,d"}};
  EXPECT_THAT(load_config(sources)->engine.dispatcher.queues, ElementsAre("c", "d"));
  sources.flags = {{"slots.queues", ""}};
  EXPECT_THAT(load_config(sources)->engine.dispatcher.queues, ElementsAre());
}

TEST_F(ConfigTest, PutsTheEmbeddedStoreIntoTheDataFolderByDefault) {
  EXPECT_EQ(load_config(with_file("data = \"/srv/horae\"\n"))->store, "sqlite:/srv/horae/horae.db");
  ConfigSources sources = with_file("data = \"/srv/horae\"\nstore = \"postgresql://horae@db/horae\"\n");
  EXPECT_EQ(load_config(sources)->store, "postgresql://horae@db/horae");
}

TEST_F(ConfigTest, SetsTheRetriesOfAllLoopsByPoll) {
  const auto config = load_config({.file = {}, .environment = {{"HORAE_POLL", "250ms"}}, .flags = {}});
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_EQ(config->engine.promoter.retry, std::chrono::milliseconds(250));
  EXPECT_EQ(config->engine.claimer.retry, std::chrono::milliseconds(250));
  EXPECT_EQ(config->engine.dispatcher.poll, std::chrono::milliseconds(250));
}

// ---- What is wrong ----

TEST_F(ConfigTest, RefusesAnUnknownKeyWithItsPlaceAndASuggestion) {
  const auto expect = [this](const std::string& line, const std::string& told) {
    EXPECT_THAT(error_of(with_file("# first line\n" + line + "\n")), HasSubstr(told)) << line;
  };
  expect("slots.cuont = 3", "horae.toml:2: unknown key slots.cuont; did you mean slots.count?");
  expect("lease = \"3s\"", "unknown key lease; did you mean slots.lease?");
  expect("[http]\nlease = \"3s\"", "horae.toml:3: unknown key http.lease; did you mean slots.lease?");
  expect("MAX_POLL_RECORDS = 100", "unknown key MAX_POLL_RECORDS; did you mean promoter.batch?");
  expect("[nothing.like.it]", "unknown key nothing.like.it; horae serve --print-config shows all settings");
  expect("slots = 3", "unknown key slots");
}

TEST_F(ConfigTest, RefusesAnUnknownVariableWithASuggestion) {
  const auto told = [this](const std::string& name) {
    return error_of({.file = {}, .environment = {{name, "1"}}, .flags = {}});
  };
  EXPECT_EQ(told("HORAE_SLOTS_CUONT"), "unknown variable HORAE_SLOTS_CUONT; did you mean HORAE_SLOTS_COUNT?");
  EXPECT_EQ(told("HORAE_CONCURRENT_TASKS"), "unknown variable HORAE_CONCURRENT_TASKS; did you mean HORAE_SLOTS_COUNT?");
  EXPECT_EQ(told("HORAE_ZZZZZZ"), "unknown variable HORAE_ZZZZZZ; horae serve --print-config shows all settings");
  EXPECT_EQ(told("HORAE_NODE"), "no error");
  EXPECT_EQ(told("HORAE_TOKEN"), "no error");
  EXPECT_EQ(told("HORAE_CA"), "no error");
  EXPECT_EQ(told("HORAE_CONFIG"), "no error");
  EXPECT_EQ(told("PATH"), "no error");
}

struct BadValue {
  std::string key;
  std::string value;
  std::string told;
};

class BadValues : public TestWithParam<BadValue> {};

TEST_P(BadValues, AreRefusedWithKeyValuePlaceAndAllowedValues) {
  const auto& [key, value, told] = GetParam();
  const auto config = load_config({.file = {}, .environment = {}, .flags = {{key, value}}});
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, ErrorCode::kMalformed);
  EXPECT_EQ(config.error().message, flag_of(*find_setting(key)) + ": " + key + " = \"" + value + "\" " + told);
}

INSTANTIATE_TEST_SUITE_P(
    Config, BadValues,
    Values(BadValue{"slots.count", "eight", "is not a whole number; give 0 to 1,024"},
           BadValue{"slots.count", "8 ", "is not a whole number; give 0 to 1,024"},
           BadValue{"slots.count", "", "is not a whole number; give 0 to 1,024"},
           BadValue{"slots.count", "-1", "is out of range; give 0 to 1,024"},
           BadValue{"slots.count", "1025", "is out of range; give 0 to 1,024"},
           BadValue{"slots.count", "99999999999999999999", "is not a whole number; give 0 to 1,024"},
           BadValue{"slots.lease", "10", "is no duration such as 50ms, 10s or 1h30m; give 1s to 24h"},
           BadValue{"slots.lease", "999ms", "is out of range; give 1s to 24h"},
           BadValue{"slots.lease", "25h", "is out of range; give 1s to 24h"},
           BadValue{"log.level", "loud", "is unknown; give debug, info, warn, error, off"},
           BadValue{"log.format", "xml", "is unknown; give text, json"},
           BadValue{"store", "mysql://x",
                    "is no kind of store that Horae supports; give sqlite:PATH or postgresql://USER@HOST/DATABASE"},
           BadValue{"store", "sqlite:",
                    "is no kind of store that Horae supports; give sqlite:PATH or postgresql://USER@HOST/DATABASE"},
           BadValue{"data", "", "is empty; give a path"},
           BadValue{"postgres.allow_unsafe", "fsync,sync",
                    "has \"sync\", which is no such setting; give fsync, full_page_writes, synchronous_commit"},
           BadValue{"slots.queues", "a,a", "names \"a\" twice; give up to 16 names of queues"},
           BadValue{"http.listen", "",
                    "has 0 items; give 1 to 16 of the form 127.0.0.1:3369, [::1]:3369 or https://0.0.0.0:3369"}));

TEST_F(ConfigTest, AcceptsNumericAddressesWithAPort) {
  const auto told = [this](const std::string& address) {
    return error_of({.file = {}, .environment = {}, .flags = {{"http.listen", address}}});
  };
  EXPECT_EQ(told("127.0.0.1:3369"), "no error");
  EXPECT_EQ(told("127.9.9.9:0"), "no error");
  EXPECT_EQ(told("http://[::1]:3369"), "no error");
  EXPECT_THAT(told("::1:3369"), HasSubstr("without brackets"));
  EXPECT_EQ(told("localhost:3369"), "no error");
  EXPECT_EQ(told("3369"), "no error");
  EXPECT_THAT(told("horae.example:3369"), HasSubstr("no numeric address"));
  EXPECT_THAT(told("127.0.0.1"), HasSubstr("no port"));
  EXPECT_THAT(told("127.0.0.1:65536"), HasSubstr("no port"));
}

TEST_F(ConfigTest, RequiresTlsOrAProxyForAddressesThatOtherMachinesReach) {
  for (const std::string address : {"0.0.0.0:3369", "192.168.1.1:3369", "[::]:3369", "[::ffff:127.0.0.1]:3369"}) {
    KeyValues flags = {{"http.listen", address}};
    EXPECT_THAT(error_of({.file = {}, .environment = {}, .flags = flags}),
                AllOf(HasSubstr("is open to other machines"), HasSubstr("http.tls_certificate and http.tls_key"),
                      HasSubstr("http.plaintext_behind_proxy = true")));
    flags["http.tls_certificate"] = "node.crt";
    EXPECT_THAT(error_of({.file = {}, .environment = {}, .flags = flags}), HasSubstr("belong together"));
    flags["http.tls_key"] = "node.key";
    EXPECT_EQ(error_of({.file = {}, .environment = {}, .flags = flags}), "no error");
    flags = {{"http.listen", address}, {"http.plaintext_behind_proxy", "true"}};
    EXPECT_EQ(error_of({.file = {}, .environment = {}, .flags = flags}), "no error");
  }
}

TEST_F(ConfigTest, RequiresRoomForOneLargestRequest) {
  const KeyValues flags = {{"http.max_body", "1048576"}, {"http.max_bytes_in_flight", "1048576"}};
  EXPECT_THAT(error_of({.file = {}, .environment = {}, .flags = flags}),
              AllOf(HasSubstr("http.max_bytes_in_flight"), HasSubstr("give at least 1064960")));
}

TEST_F(ConfigTest, ReadsBooleansWithoutQuotes) {
  const auto config = load_config(with_file("http.require_token = true\n"));
  ASSERT_TRUE(config.ok()) << config.error().message;
  EXPECT_TRUE(config->api.gate.require_token);
  EXPECT_THAT(error_of(with_file("http.require_token = \"true\"\n")),
              HasSubstr("write it like this: http.require_token = false"));
  EXPECT_THAT(error_of({.file = {}, .environment = {{"HORAE_HTTP_REQUIRE_TOKEN", "yes"}}, .flags = {}}),
              HasSubstr("is unknown; give false, true"));
}

TEST_F(ConfigTest, ShowsTheRightTypeForAWrongOne) {
  EXPECT_THAT(error_of(with_file("slots.count = \"8\"\n")),
              HasSubstr("horae.toml:1: slots.count is of type string; write it like this: slots.count = 8"));
  EXPECT_THAT(error_of(with_file("grace = 10\n")),
              HasSubstr("grace is of type integer; write it like this: grace = \"10s\""));
  EXPECT_THAT(error_of(with_file("slots.queues = \"tms\"\n")),
              HasSubstr("write it like this: slots.queues = [\"tms\", \"demo\"]"));
  EXPECT_THAT(error_of(with_file("slots.queues = [1, 2]\n")), HasSubstr("slots.queues is of type array"));
}

TEST_F(ConfigTest, ReportsAllErrorsAtOnce) {
  ConfigSources sources = with_file("slots.count = -1\nunknown = 1\n");
  sources.environment = {{"HORAE_POLL", "soon"}};
  EXPECT_THAT(error_of(sources),
              AllOf(HasSubstr("horae.toml:1: slots.count"), HasSubstr("\n"), HasSubstr("horae.toml:2: unknown key"),
                    HasSubstr("HORAE_POLL: poll = \"soon\"")));
}

TEST_F(ConfigTest, RefusesAFileThatIsNotTomlWithThePlace) {
  EXPECT_THAT(error_of(with_file("poll = \"1s\"\nslots = = 3\n")), HasSubstr("horae.toml:2: is not TOML: "));
}

TEST_F(ConfigTest, RequiresANamedFileToExist) {
  const auto config = load_config({.file = folder_.path() + "/none.toml", .environment = {}, .flags = {}});
  ASSERT_FALSE(config.ok());
  EXPECT_EQ(config.error().code, ErrorCode::kNotFound);
  EXPECT_THAT(config.error().message, HasSubstr("none.toml"));
}

TEST_F(ConfigTest, NeverShowsAPassword) {
  const std::string told =
      error_of({.file = {}, .environment = {{"HORAE_STORE", "postgres://horae:secret@db/horae"}}, .flags = {}});
  EXPECT_THAT(told, AllOf(HasSubstr("HORAE_STORE: store = "), HasSubstr("horae:***@db"), Not(HasSubstr("secret"))));
}

TEST_F(ConfigTest, PrefersTheFileOfTheFlagToThatOfTheEnvironment) {
  EXPECT_EQ(choose_config_file("flag.toml", {{"HORAE_CONFIG", "variable.toml"}}), "flag.toml");
  EXPECT_EQ(choose_config_file("", {{"HORAE_CONFIG", "variable.toml"}}), "variable.toml");
}

// ---- What is printed ----

TEST_F(ConfigTest, ReadsBackWhatItPrints) {
  const auto defaults = load_config({});
  const auto again = load_config(with_file(print_config(*defaults)));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(all_of(*again), all_of(*defaults));
}

TEST_F(ConfigTest, ReadsBackWhatItPrintsWithEveryValueChanged) {
  KeyValues flags = {{"data", "a \"strange\" \\ folder\t"},
                     {"store", "sqlite:'x'\".db"},
                     {"log.level", "off"},
                     {"log.format", "json"},
                     {"http.listen", "[::1]:1,127.0.0.2:0"},
                     {"http.tls_certificate", "node.crt"},
                     {"http.tls_key", "node.key"},
                     {"http.plaintext_behind_proxy", "true"},
                     {"http.require_token", "true"},
                     {"agent.stop_on_lost_contact", "true"},
                     {"slots.queues", ""},
                     {"postgres.allow_unsafe", "fsync"}};
  for (const Setting& setting : settings()) {
    if (flags.contains(setting.key)) continue;
    const std::string least = setting.allowed.substr(0, setting.allowed.find(" to "));
    flags[setting.key] = least;
    std::erase(flags[setting.key], ',');
  }
  const auto config = load_config({.file = {}, .environment = {}, .flags = flags});
  ASSERT_TRUE(config.ok()) << config.error().message;
  const auto again = load_config(with_file(print_config(*config)));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(all_of(*again), all_of(*config));
  const auto defaults = all_of(*load_config({}));
  for (std::size_t i = 0; i < defaults.size(); ++i) EXPECT_NE(all_of(*config)[i], defaults[i]);
}

TEST(Settings, HaveUniqueNamesAndDescriptions) {
  std::set<std::string> names;
  for (const Setting& setting : settings()) {
    EXPECT_TRUE(names.insert(setting.key).second) << setting.key;
    EXPECT_TRUE(names.insert(flag_of(setting)).second) << setting.key;
    EXPECT_TRUE(names.insert(environment_of(setting)).second) << setting.key;
    EXPECT_THAT(setting.help, ::testing::EndsWith(".")) << setting.key;
    EXPECT_FALSE(setting.allowed.empty()) << setting.key;
  }
  EXPECT_FALSE(names.contains(std::string(kConfigVariable)));
  EXPECT_FALSE(names.contains(std::string(kNodeVariable)));
  EXPECT_FALSE(names.contains(std::string(kTokenVariable)));
  EXPECT_FALSE(names.contains(std::string(kCaVariable)));
}

TEST(Settings, AreDocumentedAsInTheTable) {
  std::ifstream file(HORAE_SOURCE_DIR "/docs/reference/configuration.md");
  const std::string written(std::istreambuf_iterator<char>(file), {});
  EXPECT_EQ(written, configuration_document())
      << "run: horae manual configuration > docs/reference/configuration.md, and commit the result";
}

}  // namespace
}  // namespace horae
