#include "agent/exec/run_output.h"

#include <algorithm>
#include <charconv>
#include <utility>

namespace horae::agent {
namespace {

constexpr std::string_view kMasked = "***";
constexpr std::string_view kProgress = "::progress ";
constexpr std::size_t kMaxProgressLine = 64;

}  // namespace

SecretMask::SecretMask(std::vector<std::string> secrets) : secrets_(std::move(secrets)) {
  std::erase_if(secrets_, [](const std::string& secret) { return secret.size() < kShortest; });
  std::ranges::sort(secrets_, [](const std::string& a, const std::string& b) { return a.size() > b.size(); });
}

std::string SecretMask::mask(std::string_view piece) {
  if (secrets_.empty()) return std::string(piece);
  held_ += piece;
  // The longest end that is the begin of a secret.
  std::size_t keep = 0;
  for (const std::string& secret : secrets_) {
    for (std::size_t size = std::min(secret.size() - 1, held_.size()); size > keep; --size) {
      if (std::string_view(held_).ends_with(std::string_view(secret).substr(0, size))) keep = size;
    }
  }
  return take(keep);
}

std::string SecretMask::finish() { return take(0); }

std::string SecretMask::take(std::size_t keep) {
  std::string masked;
  std::string_view rest(held_);
  while (true) {
    std::size_t first = std::string_view::npos;
    const std::string* found = nullptr;
    for (const std::string& secret : secrets_) {
      const std::size_t at = rest.find(secret);
      if (at < first && at + keep < rest.size()) {  // else it may become a longer one
        first = at;
        found = &secret;
      }
    }
    if (found == nullptr) break;
    masked += rest.substr(0, first);
    masked += kMasked;
    rest.remove_prefix(first + found->size());
  }
  keep = std::min(keep, rest.size());
  masked += rest.substr(0, rest.size() - keep);
  held_ = std::string(rest.substr(rest.size() - keep));
  return masked;
}

void RunOutput::take(std::string_view piece) { append(mask_.mask(piece)); }
void RunOutput::finish() { append(mask_.finish()); }

void RunOutput::append(std::string_view masked) {
  bytes_ += masked.size();
  read_lines(masked);
  if (masked.size() > kTailBytes) masked.remove_prefix(masked.size() - kTailBytes);
  tail_ += masked;
  if (tail_.size() > 2 * kTailBytes) tail_.erase(0, tail_.size() - kTailBytes);
}

std::string RunOutput::tail() const { return tail_.substr(tail_.size() - std::min(tail_.size(), kTailBytes)); }

void RunOutput::read_lines(std::string_view masked) {
  while (!masked.empty()) {
    const std::size_t end = masked.find('\n');
    const std::string_view part = masked.substr(0, end);
    if (line_.size() + part.size() > kMaxProgressLine) {
      line_is_long_ = true;
    } else if (!line_is_long_) {
      line_ += part;
    }
    if (end == std::string_view::npos) return;
    read_line();
    masked.remove_prefix(end + 1);
  }
}

void RunOutput::read_line() {
  const std::string line = std::exchange(line_, {});
  if (std::exchange(line_is_long_, false) || !line.starts_with(kProgress)) return;
  double value = 0;
  const char* const begin = line.data() + kProgress.size();
  const auto [end, failed] = std::from_chars(begin, line.data() + line.size(), value);
  if (failed != std::errc() || end == begin || !(value >= 0 && value <= 1)) return;
  progress_ = value;
  ++progress_lines_;
}

}  // namespace horae::agent
