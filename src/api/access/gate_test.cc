#include "api/access/gate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "observe/metrics.h"

namespace horae {
namespace {

using ::testing::HasSubstr;

constexpr std::string_view kSecret = "horae_t-1_secret";

class GateTest : public ::testing::Test {
 protected:
  Gate gate(GateOptions options = {}) {
    return Gate({.find_token = [this](std::string_view secret) -> std::optional<Principal> {
                   if (secret != kSecret) return std::nullopt;
                   return Principal{.token_id = "t-1", .name = "one", .role = role_};
                 },
                 .throttle = [this](const std::string&) { return wait_; },
                 .guesses = &guesses_},
                options);
  }

  static HttpRequest request(std::vector<HttpHeader> headers = {}) {
    return {.method = "POST", .path = "/v1/tasks", .query = {}, .headers = std::move(headers), .body = {}, .peer = {}};
  }
  static HttpRequest with_token(std::string_view secret = kSecret) {
    return request({{"Authorization", "Bearer " + std::string(secret)}});
  }

  // The status of the refusal; 0 if admitted.
  static int status_of(const Gate::Decision& decision) { return decision.refusal ? decision.refusal->kind.status : 0; }

  // Sends unknown tokens until the limit is reached.
  void guess(const Gate& gate) {
    for (int i = 0; i < kMissesPerSecond; ++i) {
      ASSERT_EQ(status_of(gate.decide(with_token("horae_t-1_" + std::to_string(i)), Access::kRead)), 401);
    }
  }

  ManualClock clock_;
  Metrics metrics_;
  GuessLimit guesses_{clock_, metrics_};
  Role role_ = Role::kSubmit;
  std::optional<Duration> wait_;
};

TEST_F(GateTest, CallersOnThisMachineNeedNoToken) {
  const auto decision = gate().decide(request({{"Host", "localhost:3369"}}), Access::kAdmin);
  EXPECT_EQ(status_of(decision), 0);
  EXPECT_EQ(decision.principal.role, Role::kAdmin);
  EXPECT_EQ(decision.principal.scope, nullptr);
}

TEST_F(GateTest, CallersOnOtherMachinesNeedAToken) {
  HttpRequest far = request();
  far.is_local = false;
  EXPECT_EQ(status_of(gate().decide(far, Access::kRead)), 401);
  EXPECT_EQ(status_of(gate().decide(far, Access::kOpen)), 0);
}

TEST_F(GateTest, AllCallersNeedATokenIfTheNodeRequiresIt) {
  EXPECT_EQ(status_of(gate({.require_token = true}).decide(request(), Access::kRead)), 401);
  EXPECT_EQ(status_of(gate({.require_token = true}).decide(with_token(), Access::kRead)), 0);
}

TEST_F(GateTest, AnUnknownTokenIsRefusedEvenWhereNoneIsNeeded) {
  EXPECT_EQ(status_of(gate().decide(with_token("horae_t-1_other"), Access::kRead)), 401);
  EXPECT_EQ(status_of(gate().decide(request({{"Authorization", "Basic eDp5"}}), Access::kRead)), 401);
  EXPECT_EQ(status_of(Gate(GateParts{}).decide(with_token(), Access::kRead)), 401);
}

TEST_F(GateTest, ATokensRoleAppliesOnThisMachineAsWell) {
  EXPECT_EQ(status_of(gate().decide(with_token(), Access::kSubmit)), 0);
  const auto refused = gate().decide(with_token(), Access::kWork);
  ASSERT_EQ(status_of(refused), 403);
  EXPECT_THAT(refused.refusal->detail, HasSubstr("t-1"));
  EXPECT_EQ(refused.principal.token_id, "t-1") << "the audit log names the refused token";
  EXPECT_THAT(refused.refusal->detail, HasSubstr("work or admin"));
}

TEST_F(GateTest, ATokenOverItsRateLimitGetsRetryAfter) {
  wait_ = std::chrono::milliseconds(2500);
  const auto refused = gate().decide(with_token(), Access::kRead);
  ASSERT_EQ(status_of(refused), 429);
  EXPECT_EQ(refused.refusal->retry_after_seconds, 3);
  EXPECT_EQ(status_of(gate().decide(request(), Access::kRead)), 0) << "without a token there is no limit";
}

TEST_F(GateTest, AnAddressThatTriesTokensIsSlowedBeforeItsTokensAreLookedUp) {
  guess(gate());
  const auto refused = gate().decide(with_token("horae_t-1_next"), Access::kRead);
  ASSERT_EQ(status_of(refused), 429);
  EXPECT_EQ(refused.refusal->retry_after_seconds, 1);
  EXPECT_THAT(refused.refusal->detail, HasSubstr("unknown tokens"));
  EXPECT_EQ(status_of(gate().decide(with_token(), Access::kRead)), 429) << "the answer tells nothing of the token";
  EXPECT_EQ(status_of(gate().decide(request(), Access::kRead)), 0) << "without a token";
  EXPECT_EQ(status_of(gate().decide(with_token("horae_t-1_next"), Access::kOpen)), 0);
  HttpRequest neighbour = with_token();
  neighbour.peer = "10.0.0.8:50000";
  EXPECT_EQ(status_of(gate().decide(neighbour, Access::kRead)), 0);
  clock_.advance(std::chrono::milliseconds(10));
  EXPECT_EQ(status_of(gate().decide(with_token(), Access::kRead)), 0);
}

// Else one stranger would lock out all callers behind the same proxy.
TEST_F(GateTest, BehindAProxyGuessesAreCountedButSlowNobody) {
  const Gate proxied = gate({.peers_are_callers = false});
  guess(proxied);
  EXPECT_EQ(status_of(proxied.decide(with_token("horae_t-1_next"), Access::kRead)), 401);
  EXPECT_EQ(status_of(proxied.decide(with_token(), Access::kRead)), 0);
  EXPECT_THAT(metrics_.text(), HasSubstr("horae_token_misses_total 101"));
}

TEST_F(GateTest, AForeignHostNameIsRefusedWithoutAToken) {
  EXPECT_EQ(status_of(gate().decide(request({{"Host", "evil.example:3369"}}), Access::kRead)), 403);
  HttpRequest proxied = with_token();
  proxied.headers.push_back({"Host", "horae.example"});
  EXPECT_EQ(status_of(gate().decide(proxied, Access::kRead)), 0);
}

// A proxy on this machine makes every caller look local. If its node does not know of it, the node must not be open.
TEST_F(GateTest, CallersBehindAProxyNeedAToken) {
  for (const char* name :
       {"Forwarded", "Via", "X-Forwarded-For", "x-forwarded-proto", "X-Forwarded-Host", "X-Real-IP"}) {
    HttpRequest proxied = request({{"Host", "localhost:3369"}, {name, "for=10.0.0.9"}});
    const auto refused = gate().decide(proxied, Access::kRead);
    ASSERT_EQ(status_of(refused), 401) << name;
    EXPECT_THAT(refused.refusal->detail, HasSubstr(name));
    EXPECT_THAT(refused.refusal->detail, HasSubstr("http.plaintext_behind_proxy"));
    EXPECT_EQ(status_of(gate().decide(proxied, Access::kOpen)), 0) << name;
    proxied.headers.push_back({"Authorization", "Bearer " + std::string(kSecret)});
    EXPECT_EQ(status_of(gate().decide(proxied, Access::kRead)), 0) << name;
  }
  for (const char* name : {"X-Forward", "Forwarded-By", "X-Via"}) {
    EXPECT_EQ(status_of(gate().decide(request({{"Host", "localhost"}, {name, "x"}}), Access::kRead)), 0) << name;
  }
}

TEST_F(GateTest, APageOfAnotherSiteIsRefusedEvenWithAToken) {
  HttpRequest page = with_token();
  page.headers.push_back({"Host", "localhost:3369"});
  page.headers.push_back({"Origin", "https://evil.example"});
  EXPECT_EQ(status_of(gate().decide(page, Access::kSubmit)), 403);
}

TEST(LocalHost, IsLocalhostOrAnAddress) {
  for (const char* host :
       {"", "localhost", "LOCALHOST:3369", "127.0.0.1", "127.0.0.1:3369", "[::1]:3369", "10.0.0.7", "localhost:"}) {
    EXPECT_TRUE(is_local_host(host)) << host;
  }
  for (const char* host : {"evil.example", "localhost.evil.example:3369", "127.0.0.1.evil.example"}) {
    EXPECT_FALSE(is_local_host(host)) << host;
  }
}

TEST(LocalHost, IsNoTextThatOnlyBeginsLikeOne) {
  for (const char* host : {"127.0.0.1:1@evil.com", "localhost:1:evil", "[evil", "[evil.example]", "[::1]evil.example",
                           "[::1", "127.0.0.1:evil", "localhost:99999", "1.2.3", "1.2.3.4.5", "....", "256.0.0.1"}) {
    EXPECT_FALSE(is_local_host(host)) << host;
  }
}

}  // namespace
}  // namespace horae
