#include <algorithm>
#include <array>
#include <chrono>
#include <utility>

#include "bench/comm/traffic/traffic.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using backend::DataPlace;
using std::chrono::steady_clock;

constexpr int all_pairs_tag = 2;

/// Ping-pong of every rank with every other, started by one of the two and then by the other. Each
/// times the ones that it starts, once its partner is ready. So a rank with a slow link measures
/// slow messages to all partners, the others only to this one.
class AllPairs : public Traffic {
 public:
  AllPairs(Communicator& ranks, const Message& message, DataPlace place)
      : ranks_(&ranks),
        message_(message),
        place_(place),
        numbers_(message.type),
        partners_(partners(ranks.rank(), ranks.size())) {}

  /// One block per rank: data received from it, or this rank's own.
  [[nodiscard]] std::size_t memory() const override {
    return static_cast<std::size_t>(ranks_->size()) * message_.bytes;
  }

  void write_numbers(std::span<std::byte> memory) const override {
    std::ranges::fill(memory, std::byte{0xFF});
    const std::size_t begin = static_cast<std::size_t>(ranks_->rank()) * message_.bytes;
    numbers_.write(ranks_->rank(), 0, memory.subspan(begin, message_.bytes));
  }

  void use(std::span<std::byte> memory) override { used_ = memory; }

  /// Messages of a rank, one after the other. A rank without a partner waits for the next round.
  [[nodiscard]] double parts() const override {
    return 4.0 * static_cast<double>(partners_.size());
  }

  [[nodiscard]] Mismatch compare(std::span<const std::byte> memory) const override {
    Mismatch found;
    for (Rank rank = 0; rank < ranks_->size(); ++rank) {
      const std::size_t offset = static_cast<std::size_t>(rank) * message_.bytes;
      found = join(found, numbers_.compare(rank, 0, memory.subspan(offset, message_.bytes)),
                   offset / size_of(message_.type));
    }
    return found;
  }

  [[nodiscard]] std::optional<Bytes> bytes_moved() const override {
    return Bytes(static_cast<double>(message_.bytes));
  }

  [[nodiscard]] std::string implementation() const override { return library_of(*ranks_, place_); }

 private:
  [[nodiscard]] std::span<std::byte> block(Rank rank) const {
    return used_.subspan(static_cast<std::size_t>(rank) * message_.bytes, message_.bytes);
  }

  void carry_out() override {
    own_ = {};
    for (const Rank partner : partners_) {
      if (partner == ranks_->rank()) continue;
      if (ranks_->rank() < partner) {
        begin_with(partner);
        answer(partner);
      } else {
        answer(partner);
        begin_with(partner);
      }
    }
  }

  void begin_with(Rank partner) {
    std::array<std::byte, 1> word{};
    ranks_->receive(word, partner, all_pairs_tag);
    const std::span<std::byte> mine = block(ranks_->rank());
    const steady_clock::time_point start = steady_clock::now();
    ranks_->send(mine, partner, all_pairs_tag);
    ranks_->receive(mine, partner, all_pairs_tag);
    own_ += steady_clock::now() - start;
  }

  void answer(Rank partner) {
    std::array<std::byte, 1> word{};
    ranks_->send(word, partner, all_pairs_tag);
    ranks_->receive(block(partner), partner, all_pairs_tag);
    ranks_->send(block(partner), partner, all_pairs_tag);
  }

  [[nodiscard]] std::optional<Seconds> own_time() const override {
    const double messages = 2.0 * (ranks_->size() - 1);
    return Seconds(std::chrono::duration<double>(own_).count()) / messages;
  }

  Communicator* ranks_;
  Message message_;
  DataPlace place_;
  TestNumbers numbers_;
  std::vector<Rank> partners_;
  std::span<std::byte> used_;
  steady_clock::duration own_{};
};

}  // namespace

std::vector<Rank> partners(Rank rank, int ranks) {
  // An odd number of ranks gets an empty seat. The last seat stays fixed, the others rotate.
  const int turning = ranks + ranks % 2 - 1;
  std::vector<Rank> met;
  for (int round = 0; round < turning; ++round) {
    if (rank == turning) {
      met.push_back(round);
      continue;
    }
    const int other = ((2 * round - rank) % turning + turning) % turning;
    const Rank partner = other == rank ? turning : other;
    met.push_back(partner < ranks ? partner : rank);
  }
  return met;
}

std::unique_ptr<Traffic> make_all_pairs_traffic(Communicator& ranks, const Message& message,
                                                DataPlace place) {
  return std::make_unique<AllPairs>(ranks, message, place);
}

}  // namespace dlscale::bench
