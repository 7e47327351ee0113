#include "train/exchange/carriages.hpp"

#include <optional>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::train {
namespace {

using backend::Collective;
using backend::Communicator;
std::span<const std::byte> bytes_of(std::span<float> elements) {
  return std::as_bytes(elements);
}

/// Elements to which blocks are aligned, where libraries copy fastest.
constexpr std::size_t block_alignment = 32;

/// This rank's reduced block of each message.
class Blocks {
 public:
  Blocks(const CollectiveMemory& memory, std::size_t messages, int ranks)
      : ranks_(static_cast<std::size_t>(ranks)),
        room_(memory.all().size() / ranks_ + messages * block_alignment),
        memory_(memory.allocate(room_ * sizeof(float))),
        blocks_(messages) {}

  /// The block for a message of that many elements, always the same; empty for fewer elements than
  /// ranks.
  std::span<float> of(std::size_t message, std::size_t elements) {
    std::optional<std::span<float>>& block = blocks_.at(message);
    if (!block) {
      const std::size_t size = elements / ranks_;
      EXPECT(used_ + size <= room_);
      block = std::span(reinterpret_cast<float*>(memory_.get()) + used_, size);
      used_ += (size + block_alignment - 1) / block_alignment * block_alignment;
    }
    return *block;
  }

 private:
  std::size_t ranks_;
  std::size_t room_;
  backend::Buffer memory_;
  std::vector<std::optional<std::span<float>>> blocks_;
  std::size_t used_ = 0;
};

class ScatteredSum {
 public:
  ScatteredSum(CollectiveMemory memory, std::size_t messages, int ranks)
      : memory_(std::move(memory)), blocks_(memory_, messages, ranks) {}

  std::vector<Transfer> scatter(Communicator& ranks, std::size_t message,
                                std::span<float> gradients) {
    std::vector<Transfer> done;
    Instant start = steady_clock::now();
    const std::span<float> all = memory_.fetch(gradients);
    const std::span<float> block = blocks_.of(message, all.size());
    const std::size_t whole = block.size() * static_cast<std::size_t>(ranks.size());
    if (whole > 0) {
      backend::carry_out(ranks, {.collective = Collective::reduce_scatter,
                                 .from = bytes_of(all.first(whole)),
                                 .to = std::as_writable_bytes(block),
                                 .place = memory_.place()});
      done.push_back(transfer(Collective::reduce_scatter, message, all.first(whole), start));
      start = done.back().end;
    }
    if (whole < all.size()) {
      const std::span<float> rest = all.subspan(whole);
      add_up(ranks, rest);
      done.push_back(transfer(Collective::all_reduce, message, rest, start));
    }
    return done;
  }

  std::vector<Transfer> gather(Communicator& ranks, std::size_t message,
                               std::span<float> gradients) {
    const Instant start = steady_clock::now();
    const std::span<float> all = memory_.there(gradients);
    const std::span<float> block = blocks_.of(message, all.size());
    const std::size_t whole = block.size() * static_cast<std::size_t>(ranks.size());
    if (whole > 0) {
      backend::carry_out(ranks, {.collective = Collective::all_gather,
                                 .from = bytes_of(block),
                                 .to = std::as_writable_bytes(all.first(whole)),
                                 .place = memory_.place()});
    }
    memory_.store(gradients);
    if (whole == 0) return {};
    return {transfer(Collective::all_gather, message, all.first(whole), start)};
  }

 private:
  /// All-reduces by prepare(), which takes the elements' address.
  void add_up(Communicator& ranks, std::span<float> elements) const {
    const auto bytes = std::as_writable_bytes(elements);
    backend::carry_out(ranks, {.collective = Collective::all_reduce,
                               .from = bytes,
                               .to = bytes,
                               .place = memory_.place()});
  }

  static Transfer transfer(Collective kind, std::size_t message, std::span<float> carried,
                           Instant start) {
    return {.bucket = message,
            .buckets = 1,
            .kind = kind,
            .bytes = carried.size_bytes(),
            .start = start,
            .end = steady_clock::now()};
  }

  CollectiveMemory memory_;
  Blocks blocks_;
};

}  // namespace

Carriage by_scattered_sum(CollectiveMemory gradients, std::size_t messages, int ranks) {
  auto sum = std::make_shared<ScatteredSum>(std::move(gradients), messages, ranks);
  return {.first =
              [sum](Communicator& communicator, std::size_t message, std::span<float> elements) {
                return sum->scatter(communicator, message, elements);
              },
          .second =
              [sum](Communicator& communicator, std::size_t message, std::span<float> elements) {
                return sum->gather(communicator, message, elements);
              }};
}

Carriage by_reduce(CollectiveMemory gradients, std::vector<Rank> owners) {
  auto memory = std::make_shared<CollectiveMemory>(std::move(gradients));
  return {.first = [memory, owners = std::move(owners)](Communicator& ranks, std::size_t message,
                                                        std::span<float> elements) {
    const Instant start = steady_clock::now();
    const bool owns = ranks.rank() == owners[message];
    const std::span<float> all = memory->fetch(elements);
    std::span<std::byte> sum;
    if (owns) sum = std::as_writable_bytes(all);
    backend::carry_out(ranks, {.collective = Collective::reduce,
                               .root = owners[message],
                               .from = bytes_of(all),
                               .to = sum,
                               .place = memory->place()});
    if (owns) memory->store(elements);
    return std::vector{Transfer{.bucket = message,
                                .buckets = 1,
                                .kind = Collective::reduce,
                                .bytes = elements.size_bytes(),
                                .root = owners[message],
                                .start = start,
                                .end = steady_clock::now()}};
  }};
}

Transfer broadcast_bucket(Communicator& communicator, Staging& staging, std::size_t bucket,
                          std::span<float> values, Rank owner) {
  const Instant start = steady_clock::now();
  staging.with(values, [&](std::span<float> elements) {
    communicator.broadcast(std::as_writable_bytes(elements), owner);
  });
  return {.bucket = bucket,
          .buckets = 1,
          .kind = Collective::broadcast,
          .bytes = values.size_bytes(),
          .root = owner,
          .start = start,
          .end = steady_clock::now()};
}

}  // namespace dlscale::train
