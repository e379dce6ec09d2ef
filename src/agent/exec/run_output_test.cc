#include "agent/exec/run_output.h"

#include <gtest/gtest.h>

namespace horae::agent {
namespace {

TEST(RunOutput, KeepsTheLastBytes) {
  RunOutput output({});
  std::string all;
  for (int i = 0; i < 10'000; ++i) {
    const std::string line = "line " + std::to_string(i) + "\n";
    output.take(line);
    all += line;
  }
  output.finish();
  EXPECT_EQ(output.bytes(), all.size());
  EXPECT_EQ(output.tail(), all.substr(all.size() - RunOutput::kTailBytes));
}

TEST(RunOutput, MasksSecretsAlsoBetweenTwoPieces) {
  for (std::size_t cut = 0; cut <= 20; ++cut) {
    RunOutput output({"hunter22", "hunter"});
    const std::string text = "it is hunter22 hunter, hunt";
    output.take(text.substr(0, cut));
    output.take(text.substr(cut));
    output.finish();
    EXPECT_EQ(output.tail(), "it is *** ***, hunt") << cut;
  }
}

TEST(RunOutput, DoesNotMaskTextsThatAreTooShort) {
  RunOutput output({"a", ""});
  output.take("banana");
  output.finish();
  EXPECT_EQ(output.tail(), "banana");
}

TEST(RunOutput, FindsLinesOfProgress) {
  RunOutput output({});
  output.take("::progress 0.2");
  EXPECT_EQ(output.progress(), std::nullopt);
  output.take("5\nmore\n");
  EXPECT_EQ(output.progress(), 0.25);
  for (const char* line : {" ::progress 0.5\n", "::progress 2\n", "::progress -1\n", "::progress nan\n",
                           "::progress \n", "::progress x\n"}) {
    output.take(line);
  }
  output.take(std::string(1000, 'x') + "::progress 0.5\n");
  EXPECT_EQ(output.progress(), 0.25);
  EXPECT_EQ(output.progress_lines(), 1U);
  output.take("::progress 1\r\n");
  EXPECT_EQ(output.progress(), 1.0);
}

}  // namespace
}  // namespace horae::agent
