#include "api/access/token_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

namespace horae {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;

// Always the same bits.
class FixedRandom final : public Random {
 public:
  explicit FixedRandom(std::uint64_t bits) : bits_(bits) {}
  std::uint64_t next() override { return bits_; }

 private:
  std::uint64_t bits_;
};

TEST(TokenText, HasAnIdAndASecret) {
  SystemRandom random;
  const NewSecret made = make_secret(random);
  EXPECT_THAT(made.id, MatchesRegex("t-[0-9a-f]{12}"));
  EXPECT_THAT(made.text, MatchesRegex("horae_" + made.id + "_[A-Za-z0-9_-]{43}"));
}

TEST(TokenText, TheSecretIsBase64UrlOfAllBytes) {
  FixedRandom zeros(0);
  EXPECT_EQ(make_secret(zeros).text, "horae_t-000000000000_" + std::string(43, 'A'));
  FixedRandom ones(~std::uint64_t{0});
  EXPECT_EQ(make_secret(ones).text, "horae_t-ffffffffffff_" + std::string(42, '_') + "8");
  FixedRandom counting(0x0706050403020100);
  EXPECT_EQ(make_secret(counting).text, "horae_t-070605040302_AAECAwQFBgcAAQIDBAUGBwABAgMEBQYHAAECAwQFBgc");
}

TEST(TokenText, TheHashIsSha256OfTheWholeText) {
  FixedRandom zeros(0);
  std::string hash;
  for (const std::uint8_t byte : make_secret(zeros).hash) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hash += kDigits[byte >> 4];
    hash += kDigits[byte & 15];
  }
  EXPECT_EQ(hash, "71b35d2804af6c4fadce855b180bdc60724a03641dc797f609528f26dadf5300");
}

TEST(TokenText, IsUnique) {
  SystemRandom random;
  std::set<std::string> texts;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(texts.insert(make_secret(random).text).second);
}

TEST(TokenText, ReadsBack) {
  SystemRandom random;
  const NewSecret made = make_secret(random);
  const auto read = read_secret(made.text);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->id, made.id);
  EXPECT_TRUE(are_same(read->hash, made.hash));
}

TEST(TokenText, AnotherSecretHasAnotherHash) {
  SystemRandom random;
  NewSecret made = make_secret(random);
  made.text.back() = made.text.back() == 'A' ? 'B' : 'A';
  EXPECT_FALSE(are_same(read_secret(made.text)->hash, made.hash));
}

TEST(TokenText, RefusesTextsThatAreNoTokens) {
  const std::string secret(43, 'A');
  const std::string good = "horae_t-0123456789ab_" + secret;
  ASSERT_TRUE(read_secret(good).ok());
  for (const std::string& text :
       {std::string(), good + "A", good.substr(0, good.size() - 1), "Horae" + good.substr(5),
        "horae_t-0123456789aB_" + secret, "horae_x-0123456789ab_" + secret, "horae_t-0123456789ab-" + secret,
        "horae_t-0123456789ab_" + std::string(42, 'A') + "=", "horae_t-0123456789ab_" + std::string(42, 'A') + '\0'}) {
    EXPECT_EQ(read_secret(text).error().code, ErrorCode::kMalformed) << text;
  }
}

TEST(TokenText, ARefusalDoesNotQuoteTheSecret) {
  EXPECT_THAT(read_secret("hunter2-hunter2").error().message, Not(HasSubstr("hunter2")));
}

RC_GTEST_PROP(TokenText, OneWrongCharacterAnywhereIsNeverTakenForTheSame, ()) {
  SystemRandom random;
  NewSecret made = make_secret(random);
  const auto place = *rc::gen::inRange<std::size_t>(0, made.text.size());
  const auto other = *rc::gen::arbitrary<char>();
  RC_PRE(other != made.text[place]);
  made.text[place] = other;
  const auto read = read_secret(made.text);
  const bool is_taken = read.ok() && are_same(read->hash, made.hash);
  RC_ASSERT(!is_taken);
}

}  // namespace
}  // namespace horae
