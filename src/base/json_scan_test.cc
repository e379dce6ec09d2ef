#include "base/json_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace horae {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using namespace std::string_literals;

TEST(JsonScan, FindsTheValueBetweenWhiteSpace) {
  for (const std::string value : {"null", "true", "false", "0", "-0", "1.0", "-12.50e+3", "1E5",
                                  "123456789012345678901234567890", R"("")", R"("a\"b\\\u0000é\n")", "[]", "[ ]", "{}",
                                  "{ }", R"([1,[2,{"a":[]}],"x"])", R"({"a":1,"a":2})", "\"\xF0\x9F\x98\x80\""}) {
    const std::string text = " \t\r\n" + value + "\n ";
    const auto found = scan_json(text);
    ASSERT_TRUE(found.ok()) << value << ": " << found.error().message;
    EXPECT_EQ(*found, value);
  }
}

TEST(JsonScan, RefusesWhatIsNotJson) {
  for (const std::string& text : {""s,
                                  " "s,
                                  "nul"s,
                                  "nulll"s,
                                  "True"s,
                                  "01"s,
                                  "-"s,
                                  "+1"s,
                                  ".5"s,
                                  "1."s,
                                  "1e"s,
                                  "1e+"s,
                                  "0x10"s,
                                  "NaN"s,
                                  "'a'"s,
                                  "\"a"s,
                                  "\"\\x\""s,
                                  "\"\\u12\""s,
                                  "\"\\u12g4\""s,
                                  "\"\\"s,
                                  "\"\n\""s,
                                  "\"\0\""s,
                                  "\0"s,
                                  "1\0"s,
                                  "[1,]"s,
                                  "[,1]"s,
                                  "[1 2]"s,
                                  "[1"s,
                                  "["s,
                                  "]"s,
                                  "{"s,
                                  "{\"a\"}"s,
                                  "{\"a\":}"s,
                                  "{\"a\":1,}"s,
                                  "{a:1}"s,
                                  "{\"a\":1 \"b\":2}"s,
                                  "{1:2}"s,
                                  "{} {}"s,
                                  "[]]"s,
                                  "// x\n1"s,
                                  "\"\xFF\""s,
                                  "\"\xC0\x80\""s,
                                  "\"\xED\xA0\x80\""s,
                                  "\"\xE2\x82\""s,
                                  "\xEF\xBB\xBF{}"s}) {
    const auto found = scan_json(text);
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.error().code, ErrorCode::kMalformed);
    EXPECT_THAT(found.error().message, HasSubstr("byte "));
  }
}

TEST(JsonScan, ReportsTheByteOfTheFault) {
  EXPECT_EQ(scan_json("[1, x]").error().message, "not valid JSON: byte 5: a JSON value belongs here");
  EXPECT_EQ(scan_json("[1").error().message, "not valid JSON: byte 3: the text ends too early");
  EXPECT_EQ(scan_json("{} 1").error().message,
            "not valid JSON: byte 4: the JSON value ends here, but something follows");
}

TEST(JsonScan, AcceptsSixtyFourLevelsAndNoMore) {
  const auto nested = [](int depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_TRUE(scan_json(nested(64)).ok());
  EXPECT_EQ(scan_json(nested(65)).error().message,
            "too deep: byte 65: arrays and objects are nested more than 64 levels deep");
  EXPECT_FALSE(scan_json(std::string(1 << 20, '[')).ok());
  std::string objects;
  for (int i = 0; i < 65; ++i) objects += "{\"a\":";
  EXPECT_THAT(scan_json(objects).error().message, HasSubstr("more than 64"));
  EXPECT_TRUE(scan_json("[" + nested(63) + "," + nested(63) + "]").ok());
}

TEST(JsonScan, ReturnsTheMembersOfAnObjectByteForByte) {
  const auto members = scan_object(R"( { "a" : 1.0 , "b\u0041":{"x" : [ 1 ]}, "a":"é" } )");
  ASSERT_TRUE(members.ok());
  ASSERT_EQ(members->size(), 3U);
  EXPECT_EQ((*members)[0].key, "a");
  EXPECT_EQ((*members)[0].value, "1.0");
  EXPECT_EQ((*members)[1].key, R"(b\u0041)");
  EXPECT_EQ((*members)[1].value, R"({"x" : [ 1 ]})");
  EXPECT_EQ((*members)[2].key, "a");
  EXPECT_EQ((*members)[2].value, "\"é\"");
  EXPECT_THAT(scan_object("{}").value(), IsEmpty());
  EXPECT_FALSE(scan_object("[]").ok());
  EXPECT_FALSE(scan_object("{} x").ok());
}

TEST(JsonScan, ReturnsTheElementsOfAnArrayByteForByte) {
  EXPECT_THAT(scan_array(R"([ 1 ,"a,b", [2, 3] ,{}])").value(), ElementsAre("1", "\"a,b\"", "[2, 3]", "{}"));
  EXPECT_THAT(scan_array(" [ ] ").value(), IsEmpty());
  EXPECT_FALSE(scan_array("{}").ok());
}

TEST(JsonScan, ReturnsTheKindOfAValue) {
  EXPECT_EQ(kind_of("null"), JsonKind::kNull);
  EXPECT_EQ(kind_of("true"), JsonKind::kBool);
  EXPECT_EQ(kind_of("false"), JsonKind::kBool);
  EXPECT_EQ(kind_of("-1"), JsonKind::kNumber);
  EXPECT_EQ(kind_of("\"\""), JsonKind::kString);
  EXPECT_EQ(kind_of("[]"), JsonKind::kArray);
  EXPECT_EQ(kind_of("{}"), JsonKind::kObject);
}

TEST(JsonScan, DecodesStrings) {
  EXPECT_EQ(unescape_json(R"("")"), "");
  EXPECT_EQ(unescape_json(R"("plain é")"), "plain é");
  EXPECT_EQ(unescape_json(R"("\"\\\/\b\f\n\r\t")"), "\"\\/\b\f\n\r\t");
  EXPECT_EQ(unescape_json(R"("\u0041\u00e9\u20AC\ud83d\ude00")"), "Aé€\xF0\x9F\x98\x80");
  EXPECT_EQ(unescape_json(R"("\u0000")"), "\0"s);
  EXPECT_EQ(unescape_json(R"("\uFFFD\uD800\uDC00\udbff\udfff")"), "\xEF\xBF\xBD\xF0\x90\x80\x80\xF4\x8F\xBF\xBF");
}

// Half of a surrogate pair is no character: decoded, all of them would be the same text.
TEST(JsonScan, RefusesHalfOfASurrogatePair) {
  for (const std::string text : {R"("\ud800")", R"("\udc00")", R"("\uDFFF")", R"("\ud83dx\udc00")", R"("\ud83d\u0041")",
                                 R"("\ud800\ud800\udc00")", R"("\udc00\ud800")", R"("\ud800\n")", R"("\ud800\udc0")",
                                 R"("\ud800\\udc00")", R"({"\ud800":1})", R"([[{"a":"\ud800"}]])"}) {
    const auto found = scan_json(text);
    ASSERT_FALSE(found.ok()) << text;
    EXPECT_EQ(found.error().code, ErrorCode::kMalformed);
    EXPECT_THAT(found.error().message, HasSubstr("half of a surrogate pair")) << text;
  }
  EXPECT_TRUE(scan_json(R"({"\ud800\udc00":"\uD83D\uDE00\ufffd"})").ok());
  EXPECT_TRUE(scan_json(R"("\\ud800")").ok()) << "an escaped backslash, not an escape";
}

TEST(JsonScan, NamesThePlaceOfWhatIsNoText) {
  EXPECT_EQ(
      scan_object(R"({"tasks":[{"key":"a"},{"key":"\ud800"}]})").error().message,
      "not valid JSON: byte 31, in tasks[1].key: \\ud800 is half of a surrogate pair, which is no character: give "
      "both halves");
  EXPECT_EQ(scan_object("{\"spec\":{\"a b\":[0,[\"\xFF\"]]}}").error().message,
            "not valid JSON: byte 21, in spec.\"a b\"[1][0]: this is not UTF-8");
  EXPECT_EQ(scan_json(R"("\ud800")").error().message,
            "not valid JSON: byte 2: \\ud800 is half of a surrogate pair, which is no character: give both halves");
}

TEST(JsonScan, KeepsThePlaceShort) {
  std::string deep = R"("\ud800")";
  const std::string key(1000, 'k');
  for (int i = 0; i < kMaxJsonDepth; ++i) deep = "{\"" + key + "\":" + deep + "}";
  const std::string message = scan_object(deep).error().message;
  EXPECT_LT(message.size(), 400U);
  EXPECT_THAT(message, HasSubstr("kkk\"...."));
}

}  // namespace
}  // namespace horae
