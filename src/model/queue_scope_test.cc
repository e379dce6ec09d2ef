#include "model/queue_scope.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "model/task.h"

namespace horae {
namespace {

using ::testing::ElementsAre;

bool allows_with(std::string pattern, std::string_view queue) {
  return QueueScope::of({std::move(pattern)}).value().allows(queue);
}

std::string refusal(std::vector<std::string> patterns) {
  const auto scope = QueueScope::of(std::move(patterns));
  if (scope.ok()) return "";
  EXPECT_EQ(scope.error().code, ErrorCode::kRefused);
  return scope.error().message;
}

TEST(QueueScope, AWordIsOneQueue) {
  EXPECT_TRUE(allows_with("mail", "mail"));
  EXPECT_FALSE(allows_with("mail", "mails"));
  EXPECT_FALSE(allows_with("mail", "mai"));
  EXPECT_FALSE(allows_with("mail", "Mail"));
  EXPECT_FALSE(allows_with("mail", ""));
}

TEST(QueueScope, AStarIsAnyCharactersAndAlsoNone) {
  EXPECT_TRUE(allows_with("mail.*", "mail."));
  EXPECT_TRUE(allows_with("mail.*", "mail.out.slow"));
  EXPECT_FALSE(allows_with("mail.*", "mail"));
  EXPECT_TRUE(allows_with("*.out", "mail.out"));
  EXPECT_FALSE(allows_with("*.out", "mail.out.slow"));
  EXPECT_TRUE(allows_with("a*b*c", "aXbYbZc"));
  EXPECT_FALSE(allows_with("a*b*c", "acb"));
  EXPECT_TRUE(allows_with("*", "x"));
}

TEST(QueueScope, BeginningAndEndDoNotShareCharacters) {
  EXPECT_FALSE(allows_with("aba*ba", "aba"));
  EXPECT_TRUE(allows_with("aba*ba", "ababa"));
  EXPECT_FALSE(allows_with("a*a", "a"));
  EXPECT_FALSE(allows_with("*ab*b", "ab"));
}

TEST(QueueScope, AllOtherCharactersMeanThemselves) {
  EXPECT_FALSE(allows_with("a.b", "axb"));
  EXPECT_FALSE(allows_with("m..l", "mail"));
}

TEST(QueueScope, OnePatternOfSeveralIsEnough) {
  const QueueScope scope = QueueScope::of({"mail", "report-*"}).value();
  EXPECT_TRUE(scope.allows("mail"));
  EXPECT_TRUE(scope.allows("report-7"));
  EXPECT_FALSE(scope.allows("report"));
  EXPECT_THAT(scope.patterns(), ElementsAre("mail", "report-*"));
}

TEST(QueueScope, OnlyAStarAloneAllowsAll) {
  EXPECT_TRUE(QueueScope::of({"*"}).value().allows_all());
  EXPECT_TRUE(QueueScope::of({"mail", "**"}).value().allows_all());
  EXPECT_FALSE(QueueScope::of({"mail", "m*", "*l"}).value().allows_all());
}

TEST(QueueScope, RefusesBadPatternsAndNamesThem) {
  const std::string advice = ": give 1 to 128 letters, digits, '.', '_', '-' or '*'";
  EXPECT_EQ(refusal({"mail", "a b"}), "queue pattern \"a b\"" + advice);
  EXPECT_EQ(refusal({""}), "queue pattern \"\"" + advice);
  EXPECT_EQ(refusal({"mail?"}), "queue pattern \"mail?\"" + advice);
  EXPECT_NE(refusal({std::string(kMaxQueueNameLength + 1, '*')}), "");
  EXPECT_EQ(refusal({std::string(kMaxQueueNameLength, '*')}), "");
}

TEST(QueueScope, HasOneToSixteenPatterns) {
  EXPECT_EQ(refusal({}), "queue patterns: 0 of them, give 1 to 16");
  EXPECT_EQ(refusal(std::vector<std::string>(kMaxPatterns + 1, "a")), "queue patterns: 17 of them, give 1 to 16");
  EXPECT_EQ(refusal(std::vector<std::string>(kMaxPatterns, "a")), "");
}

TEST(QueueScope, NoScopeAllowsAll) {
  EXPECT_TRUE(allows(Scope(), "mail"));
  const Scope scope = std::make_shared<const QueueScope>(QueueScope::of({"m*"}).value());
  EXPECT_TRUE(allows(scope, "mail"));
  EXPECT_FALSE(allows(scope, "report"));
}

// The meaning of a pattern, said as plainly as possible; takes for ever on long ones.
bool naive_match(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern[0] != '*')
    return !name.empty() && name[0] == pattern[0] && naive_match(pattern.substr(1), name.substr(1));
  return naive_match(pattern.substr(1), name) || (!name.empty() && naive_match(pattern, name.substr(1)));
}

// Few letters, so that pieces occur again and again.
rc::Gen<std::string> short_text(std::string_view letters) {
  const std::vector<char> all(letters.begin(), letters.end());
  return rc::gen::resize(12, rc::gen::container<std::string>(rc::gen::elementOf(all)));
}

RC_GTEST_PROP(QueueScope, AgreesWithTheNaiveMatcher, ()) {
  const auto pattern = *rc::gen::nonEmpty(short_text("ab*"));
  const auto name = *short_text("ab");
  RC_ASSERT(allows_with(pattern, name) == naive_match(pattern, name));
}

RC_GTEST_PROP(QueueScope, FindsANameThatWasMadeFromThePattern, ()) {
  const auto pattern = *rc::gen::nonEmpty(short_text("ab**"));
  std::string name;
  for (const char c : pattern) {
    name += c == '*' ? *short_text("ab") : std::string(1, c);
  }
  RC_ASSERT(allows_with(pattern, name));
}

}  // namespace
}  // namespace horae
