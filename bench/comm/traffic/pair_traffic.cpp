#include <algorithm>
#include <array>

#include "bench/comm/traffic/rotating_buffers.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;
using backend::DataPlace;
using backend::Incoming;
using backend::Outgoing;

constexpr int pair_tag = 1;

/// Traffic between rank 0 and the last rank, which is on another node in a multi-node run. It
/// stores its rank, as a query to the communicator would be timed with every message.
class PairTraffic : public Traffic {
 public:
  PairTraffic(Communicator& ranks, const Message& message, DataPlace place)
      : ranks_(&ranks),
        rank_(ranks.rank()),
        last_(ranks.size() - 1),
        message_(message),
        place_(place),
        numbers_(message.type) {}

  void use(std::span<std::byte> memory) override { used_ = memory; }

  [[nodiscard]] std::optional<Bytes> bytes_moved() const override {
    return Bytes(static_cast<double>(message_.bytes));
  }

  [[nodiscard]] std::string implementation() const override { return library_of(*ranks_, place_); }

  [[nodiscard]] bool involves(Rank rank) const final { return rank == 0 || rank == last_; }

 protected:
  [[nodiscard]] Communicator& ranks() const { return *ranks_; }
  [[nodiscard]] DataPlace place() const { return place_; }
  [[nodiscard]] std::size_t bytes() const { return message_.bytes; }
  [[nodiscard]] std::span<std::byte> used() const { return used_; }
  [[nodiscard]] const TestNumbers& numbers() const { return numbers_; }
  [[nodiscard]] std::size_t element() const { return size_of(message_.type); }
  [[nodiscard]] Rank rank() const { return rank_; }
  [[nodiscard]] bool is_first() const { return rank_ == 0; }
  [[nodiscard]] bool is_last() const { return rank_ == last_; }
  [[nodiscard]] bool takes_part() const { return involves(rank_); }
  /// The other rank of the pair.
  [[nodiscard]] Rank peer() const { return is_first() ? last_ : 0; }

 private:
  Communicator* ranks_;
  Rank rank_;
  Rank last_;
  Message message_;
  DataPlace place_;
  TestNumbers numbers_;
  std::span<std::byte> used_;
};

/// Ping-pong with separate send and receive memory; the time is half of the round trip.
class PingPong : public PairTraffic {
 public:
  using PairTraffic::PairTraffic;

  [[nodiscard]] std::size_t memory() const override {
    return takes_part() ? arrival() + bytes() : 1;
  }

  void write_numbers(std::span<std::byte> memory) const override {
    std::ranges::fill(memory, std::byte{0xFF});
    if (takes_part()) numbers().write(rank(), 0, memory.first(bytes()));
  }

  [[nodiscard]] double parts() const override { return 2; }

  /// After a barrier, messages of up to 256 B take 1.4 times as long (docs/reference/results,
  /// Messages). One byte there and back leaves the last rank waiting, as after a previous message.
  [[nodiscard]] bool lines_up() const override { return true; }
  void line_up() override {
    std::array<std::byte, 1> word{};
    there_and_back(word, word);
  }

  [[nodiscard]] Mismatch compare(std::span<const std::byte> memory) const override {
    if (!takes_part()) return {};
    return numbers().compare(peer(), 0, memory.subspan(arrival(), bytes()));
  }

 private:
  /// Offset of received data, on its own cache lines.
  [[nodiscard]] std::size_t arrival() const { return whole_lines(bytes()); }

  void carry_out() override {
    if (!takes_part()) return;
    there_and_back(used().first(bytes()), used().subspan(arrival(), bytes()));
  }

  void there_and_back(std::span<const std::byte> out, std::span<std::byte> in) {
    if (is_first()) {
      ranks().send(out, peer(), pair_tag);
      ranks().receive(in, peer(), pair_tag);
    } else if (is_last()) {
      ranks().receive(in, peer(), pair_tag);
      ranks().send(out, peer(), pair_tag);
    }
  }
};

/// Many messages in flight, each with its own memory, then one byte back as an acknowledgement,
/// which is always in host memory.
class Window : public PairTraffic {
 public:
  enum class Direction { one, both };
  Window(Communicator& ranks, const Message& message, DataPlace place, Direction direction)
      : PairTraffic(ranks, message, place),
        direction_(direction),
        messages_(window(message.bytes)) {}

  [[nodiscard]] std::size_t memory() const override {
    if (!takes_part()) return 1;
    return messages_ * bytes() * (direction_ == Direction::both ? 2 : 1);
  }

  void write_numbers(std::span<std::byte> memory) const override {
    std::ranges::fill(memory, std::byte{0xFF});
    if (sends()) numbers().write(rank(), 0, memory.first(messages_ * bytes()));
  }

  void use(std::span<std::byte> memory) override {
    PairTraffic::use(memory);
    out_.clear();
    in_.clear();
    for (std::size_t i = 0; i < messages_; ++i) {
      if (sends()) out_.push_back({memory.subspan(i * bytes(), bytes()), peer(), pair_tag});
      if (receives())
        in_.push_back({memory.subspan(arrivals() + i * bytes(), bytes()), peer(), pair_tag});
    }
  }

  [[nodiscard]] double parts() const override { return static_cast<double>(messages_); }

  [[nodiscard]] Mismatch compare(std::span<const std::byte> memory) const override {
    if (!receives()) return {};
    return numbers().compare(peer(), 0, memory.subspan(arrivals(), messages_ * bytes()));
  }

 private:
  [[nodiscard]] bool sends() const {
    return is_first() || (is_last() && direction_ == Direction::both);
  }
  [[nodiscard]] bool receives() const {
    return is_last() || (is_first() && direction_ == Direction::both);
  }
  [[nodiscard]] std::size_t arrivals() const {
    return direction_ == Direction::both ? messages_ * bytes() : 0;
  }

  /// Ranks outside the pair also call exchange() for host memory, so that all ranks throw if it is
  /// unsupported. For device memory such a rank has no buffer to show its place.
  void carry_out() override {
    if (takes_part() || place() == DataPlace::host) ranks().exchange(out_, in_);
    acknowledge();
  }

  /// Acknowledges arrival: rank 0 waits for the last rank, as sent messages may still be in flight.
  void acknowledge() {
    std::array<std::byte, 1> word{};
    if (is_first()) ranks().receive(word, peer(), pair_tag);
    if (is_last()) ranks().send(word, peer(), pair_tag);
  }

  Direction direction_;
  std::size_t messages_;
  std::vector<Outgoing> out_;
  std::vector<Incoming> in_;
};

class Barrier : public Traffic {
 public:
  explicit Barrier(Communicator& ranks) : ranks_(&ranks) {}
  // one byte, as buffers must not be empty
  [[nodiscard]] std::size_t memory() const override { return 1; }
  void write_numbers(std::span<std::byte>) const override {}
  void use(std::span<std::byte>) override {}
  [[nodiscard]] Mismatch compare(std::span<const std::byte>) const override { return {}; }
  [[nodiscard]] std::optional<Bytes> bytes_moved() const override { return std::nullopt; }
  [[nodiscard]] std::string implementation() const override { return ranks_->host_library(); }

 private:
  void carry_out() override { ranks_->barrier(); }

  Communicator* ranks_;
};

}  // namespace

std::size_t window(std::size_t message_bytes) {
  constexpr std::size_t most_bytes = std::size_t{64} << 20U;
  return std::clamp<std::size_t>(most_bytes / message_bytes, 2, 64);
}

std::unique_ptr<Traffic> make_pair_traffic(Communicator& ranks, const Message& message,
                                           DataPlace place) {
  const std::string& name = message.collective;
  if (name == "sendrecv") return std::make_unique<PingPong>(ranks, message, place);
  if (name == "bandwidth") {
    return std::make_unique<Window>(ranks, message, place, Window::Direction::one);
  }
  if (name == "bidirectional") {
    return std::make_unique<Window>(ranks, message, place, Window::Direction::both);
  }
  EXPECT(name == "barrier" && place == DataPlace::host);
  return std::make_unique<Barrier>(ranks);
}

}  // namespace dlscale::bench
