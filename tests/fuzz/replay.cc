// Runs a fuzz target on the files of its corpus and on mutations of them, the same ones each time: so the tests are
// deterministic and need no Clang. `make fuzz` explores.
//
//   fuzz_time CORPUS [CHANGES]     CHANGES of each file; 2000 by default
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace {

constexpr std::size_t kMaxBytes = 4096;

using Inputs = std::vector<std::string>;

Inputs read_corpus(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  Inputs inputs;
  for (const auto& file : files) {
    std::ifstream stream(file, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  }
  return inputs;
}

// One small mutation: a changed byte, a removed or repeated piece, a piece of another input, or a cut.
void change(std::string& text, const Inputs& inputs, std::mt19937_64& random) {
  const auto below = [&](std::size_t limit) {
    return static_cast<std::size_t>(random() % std::max<std::size_t>(limit, 1));
  };
  const std::size_t at = below(text.size() + 1);
  const std::size_t length = below(16);
  switch (below(6)) {
    case 0:
      if (at < text.size()) text[at] = static_cast<char>(random());
      break;
    case 1:
      text.insert(at, 1, static_cast<char>(random()));
      break;
    case 2:
      text.erase(std::min(at, text.size()), length);
      break;
    case 3:
      text.insert(at, text.substr(below(text.size() + 1), length));
      break;
    case 4: {
      const std::string& other = inputs[below(inputs.size())];
      text.insert(at, other.substr(below(other.size() + 1), length));
      break;
    }
    default:
      text.resize(at);
  }
  if (text.size() > kMaxBytes) text.resize(kMaxBytes);
}

void run(const std::string& text) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 2) {
    std::cerr << "usage: " << arguments[0] << " CORPUS [CHANGES]\n";
    return 2;
  }
  const Inputs inputs = read_corpus(arguments[1]);
  if (inputs.empty()) {
    std::cerr << arguments[1] << " has no files\n";
    return 1;
  }
  const int changes = count > 2 ? std::atoi(arguments[2]) : 2000;
  std::mt19937_64 random(1);
  for (const std::string& input : inputs) {
    run(input);
    for (int i = 0; i < changes; ++i) {
      std::string text = input;
      for (auto left = 1 + random() % 4; left > 0; --left) change(text, inputs, random);
      run(text);
    }
  }
  std::cout << inputs.size() << " inputs, each with " << changes << " changes: passed\n";
  return 0;
}
