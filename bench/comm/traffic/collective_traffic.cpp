#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "backend/comm/schedule/runner.hpp"
#include "backend/comm/schedule/schedule.hpp"
#include "bench/comm/traffic/message_layout.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "core/base/error.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::bench {
namespace {

using backend::Collective;
using backend::CollectiveCall;
using backend::Communicator;
using backend::DataPlace;

TestNumbers numbers_for(Collective collective, const Message& message, int ranks) {
  return backend::reduces(collective) ? TestNumbers(message.type, message.op, ranks)
                                      : TestNumbers(message.type);
}

/// The requested number of segments, limited to the elements of the longest part that the algorithm
/// cuts.
int segments_for(const collective::Algorithm& algorithm, const collective::Settings& asked,
                 const Message& message) {
  if (!algorithm.traits.segments) return asked.segments;
  collective::Settings whole = asked;
  whole.segments = 1;
  const auto parts = static_cast<std::size_t>(algorithm.schedule(whole).chunks);
  const std::size_t elements = message.bytes / size_of(message.type);
  const std::size_t most = std::max<std::size_t>(1, (elements + parts - 1) / parts);
  return static_cast<int>(std::min(static_cast<std::size_t>(asked.segments), most));
}

struct Prescribed {
  collective::Schedule schedule;
  int segments = 1;
};

/// The algorithm that a message names, with its servers on ranks; empty for the library's own.
std::optional<Prescribed> prescribed_for(Collective collective, const Message& message,
                                         const Communicator& ranks) {
  if (message.algorithm == "library") return std::nullopt;
  const collective::Algorithm* algorithm = collective::find(collective, message.algorithm);
  EXPECT(algorithm != nullptr);
  if (algorithm->traits.switches) {
    throw Unsupported(
        fmt::format("{} needs switches that add what passes through them, and nothing but the "
                    "ranks adds here. Use another algorithm.",
                    message.algorithm));
  }
  collective::Settings settings{.p = ranks.size(),
                                .root = message.root,
                                .ranks_on_node = ranks.node_size(),
                                .segments = message.segments,
                                .servers = message.servers};
  const std::string_view obstacle = collective::obstacle(*algorithm, settings);
  if (!obstacle.empty()) {
    throw Unsupported(fmt::format("{} {}. Use another algorithm.", message.algorithm, obstacle));
  }
  settings.segments = segments_for(*algorithm, settings, message);
  collective::Schedule schedule = algorithm->schedule(settings);
  if (schedule.helpers > 0) schedule = collective::colocated(schedule);
  return Prescribed{std::move(schedule), settings.segments};
}

class CollectiveTraffic : public Traffic {
 public:
  CollectiveTraffic(Communicator& ranks, Collective collective, const Message& message,
                    DataPlace place, Calls calls)
      : ranks_(&ranks),
        runner_(ranks),
        collective_(collective),
        message_(message),
        place_(place),
        calls_(calls),
        layout_(collective, message, ranks),
        numbers_(numbers_for(collective, message, ranks.size())),
        prescribed_(prescribed_for(collective, message, ranks)) {
    EXPECT(!prescribed_ || (place == DataPlace::host && calls == Calls::prepared));
    EXPECT(calls == Calls::prepared || message.mode == backend::Mode::blocking);
  }

  [[nodiscard]] std::size_t memory() const override { return layout_.size(); }

  void write_numbers(std::span<std::byte> memory) const override {
    std::ranges::fill(memory, std::byte{0xFF});
    numbers_.write(ranks_->rank(), 0, layout_.given(memory));
  }

  void use(std::span<std::byte> memory) override {
    if (memory.data() == used_.data()) return;
    prepared_.reset();
    const CollectiveCall call = layout_.call(memory, place_);
    prepared_ = prescribed_ ? runner_.prepare(prescribed_->schedule, call, message_.mode)
                            : ranks_->prepare(call, message_.mode);
    if (calls_ == Calls::of_training) prepared_.reset();  // the collective is supported
    used_ = memory;
  }

  void leave() override {
    prepared_.reset();
    used_ = {};
  }

  [[nodiscard]] Mismatch compare(std::span<const std::byte> memory) const override {
    const std::span<const std::byte> result = layout_.taken(memory);
    switch (collective_) {
      case Collective::all_reduce:
        return numbers_.compare_reduced(0, result);
      case Collective::reduce:
        return ranks_->rank() == message_.root ? numbers_.compare_reduced(0, result) : Mismatch{};
      case Collective::broadcast:
        return numbers_.compare(message_.root, 0, result);
      case Collective::all_gather:
        return compare_blocks(result, 0);
      case Collective::reduce_scatter:
        return numbers_.compare_reduced(own_elements(), result);
      case Collective::all_to_all:
        return compare_blocks(result, own_elements());
    }
    fail_expectation("a known Collective");
  }

  [[nodiscard]] std::optional<Bytes> bytes_moved() const override {
    return Bytes(static_cast<double>(message_.bytes));
  }

  [[nodiscard]] std::optional<Work> algorithmic_work() const override {
    if (!prescribed_) return std::nullopt;
    return backend::busiest_rank(prescribed_->schedule, *bytes_moved(), size_of(message_.type));
  }

  /// The algorithm's own slots, and as much for received data.
  [[nodiscard]] std::size_t memory_beside() const override {
    if (!prescribed_) return 0;
    const auto chunks = static_cast<std::size_t>(prescribed_->schedule.chunks);
    const std::size_t slots = chunks + static_cast<std::size_t>(prescribed_->schedule.scratch);
    return 2 * (message_.bytes / chunks + size_of(message_.type)) * slots;
  }

  /// Facts exist only for device memory.
  [[nodiscard]] std::optional<backend::CallFacts> facts() override {
    if (place_ == DataPlace::host) return std::nullopt;
    return ranks_->facts_of(layout_.call(used_, place_));
  }

  [[nodiscard]] std::string implementation() const override {
    if (!prescribed_) return library_of(*ranks_, place_);
    const std::string text =
        fmt::format("{} by dlscale over {}", message_.algorithm, ranks_->host_library());
    const int segments = prescribed_->segments;
    if (segments == message_.segments) return text;
    return fmt::format("{}, in {} segment{} of one element", text, segments,
                       segments == 1 ? "" : "s");
  }

 private:
  void carry_out() override {
    if (calls_ == Calls::of_training) return call_as_training();
    prepared_->start();
    prepared_->wait();
  }

  /// Calls collectives as train/exchange/gradient_reducer.cpp does.
  void call_as_training() {
    const CollectiveCall call = layout_.call(used_, place_);
    const bool of_gradients = message_.type == backend::ElementType::f32;
    if (of_gradients && collective_ == Collective::broadcast) {
      return ranks_->broadcast(call.to, call.root);
    }
    if (of_gradients && collective_ == Collective::all_reduce &&
        backend::is_in_place(call, ranks_->rank())) {
      auto* elements = reinterpret_cast<float*>(call.to.data());
      return ranks_->all_reduce(std::span(elements, call.to.size() / sizeof(float)), call.op);
    }
    backend::carry_out(*ranks_, call);
  }

  /// Offset of this rank's block in the message, in elements.
  [[nodiscard]] std::size_t own_elements() const {
    return layout_.own_block() / size_of(message_.type);
  }

  /// Compares block i with rank i's sequence from element `first`.
  [[nodiscard]] Mismatch compare_blocks(std::span<const std::byte> result,
                                        std::size_t first) const {
    Mismatch found;
    for (Rank rank = 0; rank < ranks_->size(); ++rank) {
      const std::size_t offset = layout_.block() * static_cast<std::size_t>(rank);
      found = join(found, numbers_.compare(rank, first, result.subspan(offset, layout_.block())),
                   offset / size_of(message_.type));
    }
    return found;
  }

  Communicator* ranks_;
  backend::ScheduleRunner runner_;
  Collective collective_;
  Message message_;
  DataPlace place_;
  Calls calls_;
  MessageLayout layout_;
  TestNumbers numbers_;
  std::optional<Prescribed> prescribed_;  ///< empty: the library's own
  std::span<std::byte> used_;
  std::unique_ptr<backend::PreparedCollective> prepared_;
};

}  // namespace

std::unique_ptr<Traffic> make_collective_traffic(Communicator& ranks, Collective collective,
                                                 const Message& message, DataPlace place,
                                                 Calls calls) {
  return std::make_unique<CollectiveTraffic>(ranks, collective, message, place, calls);
}

}  // namespace dlscale::bench
