#include "cli/terminal/console.h"

#include <gtest/gtest.h>

#include <sstream>

#include "cli/terminal/table.h"

namespace horae::cli {
namespace {

class ConsoleTest : public ::testing::Test {
 protected:
  Console console(bool colour = false) { return {.in = in_, .out = out_, .err = out_, .out_has_colour = colour}; }

  std::istringstream in_;
  std::ostringstream out_;
};

TEST_F(ConsoleTest, TablesAlignColumnsAndTrimLines) {
  Table table({{"NAME"}, {"COUNT", Align::kRight}, {"NOTE"}});
  table.add({{"mail"}, {"7"}, {""}});
  table.add({{"grö\xC3\x9F"}, {"1000"}, {"paused"}});
  table.add({{"x"}, {""}, {"only"}});
  table.print(console());
  EXPECT_EQ(out_.str(),
            "NAME  COUNT  NOTE\n"
            "mail      7\n"
            "gr\xC3\xB6\xC3\x9F   1000  paused\n"
            "x            only\n");
}

TEST_F(ConsoleTest, PaintsOnlyOnConsolesWithColours) {
  EXPECT_EQ(painted(console(), Colour::kRed, "bad"), "bad");
  EXPECT_EQ(painted(console(true), Colour::kRed, "bad"), "\x1b[31mbad\x1b[0m");
  EXPECT_EQ(painted(console(true), Colour::kNone, "plain"), "plain");
}

TEST_F(ConsoleTest, ColoursDoNotShiftColumns) {
  Table table({{"A"}, {"B"}});
  table.add({{"x", Colour::kRed}, {"y"}});
  table.print(console(true));
  EXPECT_NE(out_.str().find("\x1b[31mx\x1b[0m  y\n"), std::string::npos) << out_.str();
}

TEST_F(ConsoleTest, DataCannotControlTheTerminal) {
  EXPECT_EQ(printable("a\x1b[2Jb\nc\xFF"),
            "a\xEF\xBF\xBD[2Jb\xEF\xBF\xBD"
            "c\xEF\xBF\xBD");
  EXPECT_EQ(printable("\xC2\x9B"
                      "31m"),
            "\xEF\xBF\xBD"
            "31m");
  Table table({{"A"}});
  table.add({{"\x1b]0;title\x07"}});
  Fields fields;
  fields.add("name", "\x1b[31m");
  table.print(console());
  fields.print(console());
  EXPECT_EQ(out_.str().find('\x1b'), std::string::npos);
}

TEST_F(ConsoleTest, OmitsFieldsWithoutAValue) {
  Fields fields;
  fields.add("id", "7");
  fields.add("key", "");
  fields.add("longer name", "x");
  fields.print(console());
  EXPECT_EQ(out_.str(), "id           7\nlonger name  x\n");
}

}  // namespace
}  // namespace horae::cli
