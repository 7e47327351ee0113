#include <fmt/format.h>

#include <optional>
#include <utility>

#include "backend/comm/together.hpp"
#include "bench/comm/traffic/message_layout.hpp"
#include "bench/comm/traffic/traffic.hpp"
#include "bench/workbench/finding.hpp"
#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"

namespace dlscale::bench {
namespace {

using backend::Collective;
using backend::Communicator;
using backend::DataPlace;

[[noreturn]] void refuse(const std::string& what) {
  throw Unsupported(what + " Leave that out, or measure it between memories of the host.");
}

/// Throws Unsupported if a collective cannot use device memory.
void expect_offered(const Message& message) {
  if (message.algorithm != "library") {
    refuse(fmt::format("{} by dlscale adds in memory of the host, so a device's cannot be its.",
                       message.algorithm));
  }
  if (message.mode != backend::Mode::blocking) {
    refuse(
        fmt::format("calls with a device's memory are blocking, not {}.", to_string(message.mode)));
  }
}

/// Throws Unsupported if the communicator does not take device memory for point-to-point messages.
/// Training does not send these, so there are no staging copies to measure.
void expect_taken(const Message& message, const Communicator& ranks) {
  if (ranks.takes_device_memory()) return;
  refuse(
      fmt::format("{} is messages between two ranks, which {} takes from memory of the host "
                  "alone.",
                  message.collective, ranks.library()));
}

/// Staging through host memory with the copies of train/exchange/host_copies.hpp and
/// gradient_reducer.cpp. There the result of a reduce_scatter stays on the host, and
/// an all_gather starts from it.
class StagedTraffic : public Traffic {
 public:
  StagedTraffic(Communicator& ranks, Collective collective, const Message& message,
                backend::ComputeDevice& device)
      : ranks_(&ranks),
        on_host_(make_collective_traffic(ranks, collective, message, DataPlace::host,
                                         Calls::of_training)),
        layout_(collective, message, ranks),
        fetches_(collective != Collective::all_gather),
        stores_(collective != Collective::reduce_scatter &&
                (collective != Collective::reduce || ranks.rank() == message.root)),
        copy_stream_(device.copy_stream()),
        host_(device.allocate_on_host(layout_.size())) {}

  [[nodiscard]] std::size_t memory() const override { return layout_.size(); }
  void write_numbers(std::span<std::byte> memory) const override {
    on_host_->write_numbers(memory);
  }
  void use(std::span<std::byte> memory) override {
    there_ = memory;
    on_host_->use(on_host());
    if (!fetches_) fetch();
  }
  void leave() override {
    on_host_->leave();
    there_ = {};
  }
  [[nodiscard]] Mismatch compare(std::span<const std::byte> memory) const override {
    return on_host_->compare(stores_ ? memory : on_host());
  }
  [[nodiscard]] std::optional<Bytes> bytes_moved() const override {
    return on_host_->bytes_moved();
  }
  [[nodiscard]] std::string implementation() const override { return device_library(*ranks_); }

 private:
  void carry_out() override {
    if (fetches_) fetch();
    static_cast<void>(on_host_->once());
    if (stores_) store();
  }

  [[nodiscard]] std::span<std::byte> on_host() const { return {host_.get(), layout_.size()}; }

  void fetch() {
    const std::span<std::byte> from = layout_.given(there_);
    copy_stream_->copy(from.data(), layout_.given(on_host()).data(), from.size());
  }

  void store() {
    const std::span<std::byte> to = layout_.taken(there_);
    copy_stream_->copy(layout_.taken(on_host()).data(), to.data(), to.size());
  }

  Communicator* ranks_;
  std::unique_ptr<Traffic> on_host_;
  MessageLayout layout_;
  bool fetches_;
  bool stores_;
  std::unique_ptr<backend::CopyStream> copy_stream_;
  backend::Buffer host_;
  std::span<std::byte> there_;
};

}  // namespace

std::string device_library(const Communicator& ranks) {
  return ranks.library() +
         (ranks.takes_device_memory() ? std::string() : std::string(staged_by_host));
}

std::unique_ptr<Traffic> make_device_traffic(Communicator& ranks, const Message& message,
                                             backend::ComputeDevice& device) {
  EXPECT(device.own_memory());
  const auto named = collective_named(message.collective);
  if (!named) {
    expect_taken(message, ranks);
    const auto make = message.collective == "pairs" ? make_all_pairs_traffic : make_pair_traffic;
    return make(ranks, message, DataPlace::device);
  }
  const Collective collective = *named;
  expect_offered(message);
  if (ranks.takes_device_memory()) {
    return make_collective_traffic(ranks, collective, message, DataPlace::device,
                                   Calls::of_training);
  }
  std::unique_ptr<Traffic> staged;
  together(ranks, [&] {
    const MessageLayout layout(collective, message, ranks);
    expect_host_memory("its way through the host", Bytes(static_cast<double>(layout.size())),
                       ranks.node_size());
    staged = std::make_unique<StagedTraffic>(ranks, collective, message, device);
  });
  return staged;
}

}  // namespace dlscale::bench
