#include "app/greeting.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(UrlsToOpen, AreThoseOfTheListener) {
  EXPECT_THAT(urls_to_open({"http://127.0.0.1:3369", "https://10.0.0.7:3370"}, "ada"),
              ElementsAre("http://127.0.0.1:3369", "https://10.0.0.7:3370"));
}

TEST(UrlsToOpen, OfAWildcardAreLoopbackAndTheHostName) {
  EXPECT_THAT(urls_to_open({"https://0.0.0.0:3369"}, "ada"), ElementsAre("https://127.0.0.1:3369", "https://ada:3369"));
  EXPECT_THAT(urls_to_open({"http://[::]:3369"}, "ada"), ElementsAre("http://[::1]:3369", "http://ada:3369"));
  EXPECT_THAT(urls_to_open({"https://0.0.0.0:3369"}, ""), ElementsAre("https://127.0.0.1:3369"));
}

TEST(UrlsToOpen, AreListedOnce) {
  EXPECT_THAT(urls_to_open({"https://0.0.0.0:1", "https://[::]:1"}, "ada"),
              ElementsAre("https://127.0.0.1:1", "https://ada:1", "https://[::1]:1"));
}

TEST(UrlsToOpen, KeepAnAddressThatOnlyLooksLikeAWildcard) {
  EXPECT_THAT(urls_to_open({"http://10.0.0.0:1"}, "ada"), ElementsAre("http://10.0.0.0:1"));
}

TEST(Greeting, ShowsEachAddressOnALineOfItsOwn) {
  const std::string text = greeting(
      {.owner = "worker-1", .store = "SQLite", .urls = {"http://127.0.0.1:1", "https://ada:2"}, .program = "./horae"},
      Config());
  EXPECT_THAT(text, HasSubstr("\n  address  http://127.0.0.1:1   (/docs"));
  EXPECT_THAT(text, HasSubstr("\n           https://ada:2\n  store    SQLite\n"));
  EXPECT_THAT(text, HasSubstr("./horae task list --node http://127.0.0.1:1\n"));
}

TEST(Greeting, OffersOnlyWhatTheNodeRuns) {
  const Greeting shown{.owner = "worker-1", .store = "SQLite", .urls = {"http://127.0.0.1:1"}, .program = "horae"};
  EXPECT_THAT(greeting(shown, Config()), HasSubstr(R"("queue":"demo")"));
  Config config;
  config.engine.dispatcher.queues = {"mail"};
  EXPECT_THAT(greeting(shown, config), HasSubstr(R"("queue":"mail")"));
  config.engine.dispatcher.slots = 0;
  EXPECT_THAT(greeting(shown, config), AllOf(Not(HasSubstr("curl")), HasSubstr("slots    none")));
}

TEST(Greeting, SaysWhichTokenAndCertificateTheCommandsNeed) {
  Greeting shown{.owner = "worker-1", .store = "SQLite", .urls = {"http://127.0.0.1:1"}, .program = "horae"};
  Config config;
  EXPECT_THAT(greeting(shown, config), AllOf(Not(HasSubstr("HORAE_TOKEN")), Not(HasSubstr("HORAE_CA"))));
  config.api.gate.require_token = true;
  EXPECT_THAT(greeting(shown, config),
              AllOf(HasSubstr("  export HORAE_TOKEN=SECRET   # of a token; horae token create --help\n"),
                    HasSubstr(R"( -H "authorization: Bearer $HORAE_TOKEN" )"), Not(HasSubstr("HORAE_CA"))));
  config.api.gate.require_token = false;
  config.http.tls = {.certificate = "node.pem", .key = "node.key"};
  shown.urls = {"https://127.0.0.1:1"};
  EXPECT_THAT(greeting(shown, config),
              AllOf(Not(HasSubstr("HORAE_TOKEN")), HasSubstr("  export HORAE_CA=node.pem   #"),
                    HasSubstr(R"(curl --cacert "$HORAE_CA" -X POST https://127.0.0.1:1/v1/tasks)")));
  shown.urls = {"https://10.0.0.7:1"};  // not loopback
  EXPECT_THAT(greeting(shown, config), AllOf(HasSubstr("HORAE_TOKEN"), HasSubstr("HORAE_CA")));
}

}  // namespace
}  // namespace horae
