#include "agent/journal/journal.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "api/json/field_reader.h"
#include "api/json/json_writer.h"

namespace horae::agent {
namespace {

constexpr std::size_t kMaxJournalBytes = std::size_t{1} << 30;
constexpr std::size_t kSmall = 1 << 20;  // a file is not rewritten below this size
constexpr std::size_t kHeadBytes = 18;   // "0123abcd 00000042\n"

// CRC-32, as in zip and Ethernet.
std::uint32_t checksum(std::string_view bytes) {
  static constexpr auto kTable = [] {
    std::array<std::uint32_t, 256> table{};
    for (std::uint32_t i = 0; i < table.size(); ++i) {
      table[i] = i;
      for (int bit = 0; bit < 8; ++bit) table[i] = (table[i] >> 1) ^ ((table[i] & 1) != 0 ? 0xedb88320U : 0U);
    }
    return table;
  }();
  std::uint32_t sum = ~0U;
  for (const char byte : bytes) sum = (sum >> 8) ^ kTable[(sum ^ static_cast<unsigned char>(byte)) & 0xffU];
  return ~sum;
}

std::string_view name_of(JournalRecord::Kind kind) {
  switch (kind) {
    case JournalRecord::Kind::kStart:
      return "start";
    case JournalRecord::Kind::kEnd:
      return "end";
    case JournalRecord::Kind::kOver:
      return "over";
  }
  return "";
}

void append_record(std::string& out, const JournalRecord& record) {
  std::string payload;
  JsonObject object(payload);
  object.add("record", name_of(record.kind));
  object.add("owner", record.key.owner);
  object.add("id", record.key.id);
  object.add("attempt", record.key.attempt);
  if (record.kind == JournalRecord::Kind::kEnd) object.add_json("settlement", record.settlement);
  object.end();
  payload += '\n';
  fmt::format_to(std::back_inserter(out), "{:08x} {:08x}\n{}", checksum(payload), payload.size(), payload);
}

std::optional<JournalRecord> read_payload(std::string_view payload) {
  FieldReader fields(payload, {"record", "owner", "id", "attempt", "settlement"});
  const std::string kind = fields.text("record").value_or("");
  JournalRecord record{.key = {.owner = fields.text("owner").value_or(""),
                               .id = fields.uuid("id").value_or(TaskId()),
                               .attempt = fields.small_integer("attempt").value_or(0)},
                       .settlement = std::string(fields.present_json("settlement").value_or(""))};
  for (const auto each : {JournalRecord::Kind::kStart, JournalRecord::Kind::kEnd, JournalRecord::Kind::kOver}) {
    if (kind == name_of(each)) {
      record.kind = each;
      return fields.fault() ? std::nullopt : std::optional(record);
    }
  }
  return std::nullopt;
}

std::optional<std::uint32_t> hex_at(std::string_view text) {
  std::uint32_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + 8, value, 16);
  return failed == std::errc() && end == text.data() + 8 ? std::optional(value) : std::nullopt;
}

// Takes the first record off `rest`; nothing if it is not whole.
std::optional<JournalRecord> take_record(std::string_view& rest) {
  if (rest.size() < kHeadBytes || rest[8] != ' ' || rest[kHeadBytes - 1] != '\n') return std::nullopt;
  const auto sum = hex_at(rest);
  const auto size = hex_at(rest.substr(9));
  if (!sum || !size || rest.size() - kHeadBytes < *size) return std::nullopt;
  const std::string_view payload = rest.substr(kHeadBytes, *size);
  if (checksum(payload) != *sum) return std::nullopt;
  rest.remove_prefix(kHeadBytes + *size);
  return read_payload(payload);
}

Error failure(const std::string& path, std::string_view what) {
  return {ErrorCode::kUnavailable, fmt::format("the journal {} cannot be {}: {}", path, what, std::strerror(errno))};
}

}  // namespace

Result<Journal> Journal::open(std::string path, const Logger& log) {
  Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file.is_open()) return failure(path, "opened");
  Journal journal(std::move(path), std::move(file));
  if (auto read = journal.read(log); !read.ok()) return read.error();
  if (auto rewritten = journal.rewrite(); !rewritten.ok()) return rewritten.error();
  return journal;
}

Result<void> Journal::read(const Logger& log) {
  const auto content = read_rest(file_.number(), kMaxJournalBytes);
  if (!content.ok()) return content.error();
  std::string_view rest = *content;
  while (!rest.empty()) {
    const auto record = take_record(rest);
    if (!record) {
      log.warn("the journal ends with a record that was not written to its end; it is cut off",
               {{"journal", path_}, {"bytes", rest.size()}});
      break;
    }
    take(*record);
  }
  return {};
}

void Journal::take(const JournalRecord& record) {
  if (record.kind == JournalRecord::Kind::kStart) open_.try_emplace(record.key);
  if (record.kind == JournalRecord::Kind::kEnd) open_[record.key] = record.settlement;
  if (record.kind == JournalRecord::Kind::kOver) open_.erase(record.key);
}

Result<void> Journal::append(std::span<const JournalRecord> records) {
  if (records.empty()) return {};
  std::string bytes;
  for (const JournalRecord& record : records) append_record(bytes, record);
  if (auto written = write(bytes); !written.ok()) return written.error();
  for (const JournalRecord& record : records) take(record);
  if (size_ < rewrite_at_) return {};
  (void)rewrite();  // if it fails, the old file is still whole
  return {};
}

Result<void> Journal::write(std::string_view bytes) {
  // A failed call may have left a part of its records behind the whole ones.
  if (::ftruncate(file_.number(), static_cast<off_t>(size_)) != 0 ||
      ::lseek(file_.number(), static_cast<off_t>(size_), SEEK_SET) < 0) {
    return failure(path_, "written");
  }
  for (std::string_view rest = bytes; !rest.empty();) {
    const ssize_t written = ::write(file_.number(), rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) {
      const Error failed = failure(path_, "written");
      (void)!::ftruncate(file_.number(), static_cast<off_t>(size_));
      return failed;
    }
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  if (::fdatasync(file_.number()) != 0) return failure(path_, "written");
  size_ += bytes.size();
  return {};
}

Result<void> Journal::rewrite() {
  const std::string next_path = path_ + ".new";
  Descriptor next(::open(next_path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!next.is_open()) return failure(next_path, "made");
  Journal rewritten(next_path, std::move(next));
  std::string bytes;
  for (const auto& [key, settlement] : open_) {
    append_record(bytes, {.kind = settlement ? JournalRecord::Kind::kEnd : JournalRecord::Kind::kStart,
                          .key = key,
                          .settlement = settlement.value_or("")});
  }
  if (auto written = rewritten.write(bytes); !written.ok()) return written;
  if (std::rename(next_path.c_str(), path_.c_str()) != 0) return failure(path_, "replaced");
  const Descriptor folder(::open(path_.substr(0, path_.rfind('/') + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!folder.is_open() || ::fsync(folder.number()) != 0) return failure(path_, "replaced");
  file_ = std::move(rewritten.file_);
  size_ = rewritten.size_;
  rewrite_at_ = std::max(kSmall, 4 * size_);
  return {};
}

}  // namespace horae::agent
