#include "train/sent_messages.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "train/timeline.hpp"

namespace dlscale::train {
namespace {

std::vector<SentMessage> told_from(Instant began, std::vector<Transfer> transfers) {
  std::ranges::stable_sort(transfers, {}, &Transfer::start);
  std::vector<SentMessage> messages;
  messages.reserve(transfers.size());
  for (const Transfer& transfer : transfers) {
    messages.push_back({.kind = transfer.kind,
                        .bytes = transfer.bytes,
                        .posted = elapsed(began, transfer.posted),
                        .wait = elapsed(transfer.posted, transfer.start),
                        .time = elapsed(transfer.start, transfer.end)});
  }
  return messages;
}

}  // namespace

void MessageLog::begin(Instant began, Instant first_posted) {
  iterations_.push_back({began, first_posted, {}});
}

void MessageLog::add(std::span<const Transfer> transfers) {
  for (const Transfer& transfer : transfers) {
    const auto after =
        std::ranges::upper_bound(iterations_, transfer.start, {}, &Iteration::first_posted);
    if (after != iterations_.begin()) std::prev(after)->transfers.push_back(transfer);
  }
}

std::vector<std::vector<SentMessage>> MessageLog::take() {
  std::vector<std::vector<SentMessage>> messages;
  for (Iteration& iteration : iterations_) {
    messages.push_back(told_from(iteration.began, std::move(iteration.transfers)));
  }
  iterations_.clear();
  return messages;
}

}  // namespace dlscale::train
