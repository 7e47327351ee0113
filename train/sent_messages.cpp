#include "train/sent_messages.hpp"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "train/timeline.hpp"

namespace dlscale::train {
namespace {

/// Number of layers in all messages of one transfer.
std::size_t layers_of(const Transfer& transfer, std::span<const std::size_t> layers) {
  const auto own = layers.subspan(transfer.bucket, transfer.buckets);
  return std::accumulate(own.begin(), own.end(), std::size_t{0});
}

/// Indices of the transfers in the order in which they started.
std::vector<std::size_t> in_order(std::span<const Transfer> transfers) {
  std::vector<std::size_t> places(transfers.size());
  std::iota(places.begin(), places.end(), std::size_t{0});
  std::ranges::stable_sort(places, {}, [&](std::size_t i) { return transfers[i].start; });
  return places;
}

std::vector<SentMessage> told_from(Instant began, std::span<const Transfer> transfers,
                                   std::span<const std::size_t> layers) {
  std::vector<SentMessage> messages;
  messages.reserve(transfers.size());
  for (const std::size_t place : in_order(transfers)) {
    const Transfer& transfer = transfers[place];
    messages.push_back({.kind = transfer.kind,
                        .bytes = transfer.bytes,
                        .root = transfer.root,
                        .under_way = transfer.under_way,
                        .layers = layers[place],
                        .posted = elapsed(began, transfer.posted),
                        .wait = elapsed(transfer.posted, transfer.start),
                        .time = elapsed(transfer.start, transfer.end)});
  }
  return messages;
}

}  // namespace

void MessageLog::begin(Instant began, Instant first_posted) {
  iterations_.push_back({began, first_posted, {}, {}});
}

void MessageLog::add(std::span<const Transfer> transfers, std::span<const std::size_t> layers) {
  for (const Transfer& transfer : transfers) {
    const auto after =
        std::ranges::upper_bound(iterations_, transfer.start, {}, &Iteration::first_posted);
    if (after == iterations_.begin()) continue;
    std::prev(after)->transfers.push_back(transfer);
    std::prev(after)->layers.push_back(layers_of(transfer, layers));
  }
}

std::vector<std::vector<SentMessage>> MessageLog::take() {
  std::vector<std::vector<SentMessage>> messages;
  for (const Iteration& iteration : iterations_) {
    messages.push_back(told_from(iteration.began, iteration.transfers, iteration.layers));
  }
  iterations_.clear();
  return messages;
}

}  // namespace dlscale::train
