// What a program writes: bounded, with secrets masked, searched for lines of progress.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace horae::agent {

// Replaces secrets in text that arrives in pieces, also one that is divided between two pieces.
class SecretMask {
 public:
  // Texts of less than kShortest bytes are not masked: they would be found everywhere.
  explicit SecretMask(std::vector<std::string> secrets);

  static constexpr std::size_t kShortest = 4;

  // The masked text that is certain by now. What may be the begin of a secret is held back, at most until finish().
  std::string mask(std::string_view piece);
  std::string finish();

 private:
  std::string take(std::size_t keep);  // masks held_ but for its last `keep` bytes

  std::vector<std::string> secrets_;  // longest first
  std::string held_;
};

// Not thread-safe.
class RunOutput {
 public:
  static constexpr std::size_t kTailBytes = 8 << 10;

  explicit RunOutput(std::vector<std::string> secrets) : mask_(std::move(secrets)) {}

  void take(std::string_view piece);
  void finish();

  // The last bytes, and how many there were in all. The first bytes may be the rest of a character.
  std::string tail() const;
  std::size_t bytes() const { return bytes_; }

  // The value of the newest line "::progress 0.4" (0 to 1), if there was one.
  std::optional<double> progress() const { return progress_; }
  std::size_t progress_lines() const { return progress_lines_; }  // how many there were

 private:
  void append(std::string_view masked);
  void read_lines(std::string_view masked);
  void read_line();

  SecretMask mask_;
  std::string tail_;  // up to twice kTailBytes, so that it is cut seldom
  std::string line_;  // the begin of the present line
  bool line_is_long_ = false;
  std::size_t bytes_ = 0;
  std::size_t progress_lines_ = 0;
  std::optional<double> progress_;
};

}  // namespace horae::agent
