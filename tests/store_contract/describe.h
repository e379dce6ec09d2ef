// What stores answer, as text: two stores agree if their texts are equal. Everything is in it but what stores may
// choose for themselves: numbers, cursors, the order of sets, the words of an error.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "store/store.h"

namespace horae::testing {

std::string describe(bool value);
std::string describe(const std::string& text);
std::string describe(const Uuid& uuid);
std::string describe(Verdict verdict);
std::string describe(const Task& task);
std::string describe(const SubmitOutcome& outcome);
std::string describe(const LeasedTask& leased);
std::string describe(const SettleOutcome& outcome);
std::string describe(const ClaimOutcome& outcome);
std::string describe(const BundleOutcome& outcome);
std::string describe(const CancelOutcome& outcome);
std::string describe(const PromoteOutcome& outcome);
std::string describe(const Watch& watch);
std::string describe(const ExpireOutcome& outcome);
std::string describe(const PurgeOutcome& outcome);
std::string describe(const QueueSettings& settings);
std::string describe(const QueueInfo& info);
std::string describe(const Readying& readying);
std::string describe(const Message& message);
std::string describe(const StoredMessage& message);
std::string describe(const MessagePosition& position);
std::string describe(const EnqueueOutcome& outcome);
std::string describe(const TurnOutcome& outcome);
std::string describe(const HeldPage& page);
std::string describe(const StuckPage& page);
std::string describe(const MessagePage& page);
std::string describe(const MessageCounts& counts);
std::string describe(const DelayLook& look);

template <typename T>
std::string describe(const std::optional<T>& value) {
  return value ? describe(*value) : "nothing";
}

template <typename T>
std::string describe(const std::vector<T>& values) {
  std::string text = "[";
  for (const T& value : values) text += "\n  " + describe(value);
  return text + "]";
}

template <typename T>
std::string describe(const Result<T>& result) {
  return result.ok() ? describe(*result) : "error " + std::string(to_string(result.error().code));
}

}  // namespace horae::testing
