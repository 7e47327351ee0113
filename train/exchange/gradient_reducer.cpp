#include "train/exchange/gradient_reducer.hpp"

#include <utility>

#include "core/base/error.hpp"

namespace dlscale::train {
namespace {

using backend::Collective;
using backend::Communicator;

/// Elements to which blocks are aligned, where libraries copy fastest.
constexpr std::size_t block_alignment = 32;

/// The transfer of a whole message or of a part, which ends now.
Transfer ended(Collective kind, std::size_t message, std::span<const float> elements,
               Instant start) {
  return {.bucket = message,
          .buckets = 1,
          .kind = kind,
          .bytes = elements.size_bytes(),
          .start = start,
          .end = steady_clock::now()};
}

Transfer ended_at(Rank root, Transfer transfer) {
  transfer.root = root;
  return transfer;
}

}  // namespace

std::vector<Transfer> AllReduceReducer::reduce(Communicator& communicator, std::size_t message,
                                               std::span<float> gradients) {
  const Instant start = steady_clock::now();
  communicator.all_reduce(staging_.fetch(gradients), backend::Reduction::sum);
  staging_.store(gradients);
  return {ended(Collective::all_reduce, message, gradients, start)};
}

ShardedReducer::ShardedReducer(CollectiveMemory gradients, std::size_t messages, int ranks)
    : memory_(std::move(gradients)),
      ranks_(static_cast<std::size_t>(ranks)),
      room_(memory_.all().size() / ranks_ + messages * block_alignment),
      buffer_(memory_.allocate(room_ * sizeof(float))),
      blocks_(messages) {}

/// The block is always the same for a message; it is empty for fewer elements than ranks.
std::span<float> ShardedReducer::block_of(std::size_t message, std::size_t elements) {
  std::optional<std::span<float>>& block = blocks_.at(message);
  if (!block) {
    const std::size_t size = elements / ranks_;
    EXPECT(used_ + size <= room_);
    block = std::span(reinterpret_cast<float*>(buffer_.get()) + used_, size);
    used_ += (size + block_alignment - 1) / block_alignment * block_alignment;
  }
  return *block;
}

std::vector<Transfer> ShardedReducer::reduce(Communicator& communicator, std::size_t message,
                                             std::span<float> gradients) {
  std::vector<Transfer> done;
  Instant start = steady_clock::now();
  const std::span<float> all = memory_.fetch(gradients);
  const std::span<float> block = block_of(message, all.size());
  const std::span<float> whole = all.first(block.size() * ranks_);
  if (!whole.empty()) {
    backend::carry_out(communicator, {.collective = Collective::reduce_scatter,
                                      .from = std::as_bytes(whole),
                                      .to = std::as_writable_bytes(block),
                                      .place = memory_.place()});
    done.push_back(ended(Collective::reduce_scatter, message, whole, start));
    start = done.back().end;
  }
  const std::span<float> rest = all.subspan(whole.size());
  if (!rest.empty()) {
    const auto bytes = std::as_writable_bytes(rest);
    backend::carry_out(communicator, {.collective = Collective::all_reduce,
                                      .from = bytes,
                                      .to = bytes,
                                      .place = memory_.place()});
    done.push_back(ended(Collective::all_reduce, message, rest, start));
  }
  return done;
}

std::vector<Transfer> ShardedReducer::finish(Communicator& communicator, std::size_t message,
                                             std::span<float> gradients) {
  const Instant start = steady_clock::now();
  const std::span<float> all = memory_.there(gradients);
  const std::span<float> block = block_of(message, all.size());
  const std::span<float> whole = all.first(block.size() * ranks_);
  if (!whole.empty()) {
    backend::carry_out(communicator, {.collective = Collective::all_gather,
                                      .from = std::as_bytes(block),
                                      .to = std::as_writable_bytes(whole),
                                      .place = memory_.place()});
  }
  memory_.store(gradients);
  if (whole.empty()) return {};
  return {ended(Collective::all_gather, message, whole, start)};
}

std::vector<Transfer> ParameterServerReducer::reduce(Communicator& communicator,
                                                     std::size_t message,
                                                     std::span<float> gradients) {
  const Instant start = steady_clock::now();
  const Rank owner = owners_[message];
  const bool owns = communicator.rank() == owner;
  const std::span<float> all = memory_.fetch(gradients);
  std::span<std::byte> sum;
  if (owns) sum = std::as_writable_bytes(all);
  backend::carry_out(communicator, {.collective = Collective::reduce,
                                    .root = owner,
                                    .from = std::as_bytes(all),
                                    .to = sum,
                                    .place = memory_.place()});
  if (owns) memory_.store(gradients);
  return {ended_at(owner, ended(Collective::reduce, message, gradients, start))};
}

Transfer broadcast_parameters(Communicator& communicator, Staging& staging, std::size_t message,
                              std::span<float> values, Rank owner) {
  const Instant start = steady_clock::now();
  communicator.broadcast(std::as_writable_bytes(staging.fetch(values)), owner);
  staging.store(values);
  return ended_at(owner, ended(Collective::broadcast, message, values, start));
}

}  // namespace dlscale::train
