#include <fmt/format.h>

#include <optional>
#include <utility>

#include "bench/comm/traffic.hpp"
#include "bench/conv/finding.hpp"
#include "bench/together.hpp"
#include "core/error.hpp"
#include "core/usable_rows.hpp"
#include "train/staging.hpp"

namespace dlscale::bench {
namespace {

using backend::Collective;
using backend::Communicator;

[[noreturn]] void refuse(const std::string& what) {
  throw Unsupported(what +
                    " Leave that out, or measure it between memories of the host: --memory host.");
}

/// What training gives a communicator that lies in memory of a device. All else goes by way of the
/// host's memory (train/host_mirror.hpp), or is not sent at all.
void expect_as_trained(const Message& message) {
  const auto collective = collective_named(message.collective);
  if (collective != Collective::all_reduce && collective != Collective::broadcast) {
    refuse(fmt::format(
        "training hands a communicator no {} of a device's memory: it all-reduces gradients and "
        "broadcasts parameters there, and brings the rest to the host first.",
        message.collective));
  }
  if (message.algorithm != "library") {
    refuse(fmt::format("{} by dlscale adds in memory of the host, so a device's cannot be its.",
                       message.algorithm));
  }
  if (message.type != backend::ElementType::f32) {
    refuse(fmt::format("gradients and parameters travel from a device's memory as f32, not {}.",
                       to_string(message.type)));
  }
  if (message.mode != backend::Mode::blocking) {
    refuse(
        fmt::format("calls with a device's memory are blocking, not {}.", to_string(message.mode)));
  }
  if (*collective == Collective::all_reduce && message.placement != Placement::in_place) {
    refuse("an all-reduce of a device's memory is done in place.");
  }
}

/// The calls of train/exchange.cpp and train/carriages.cpp: of the memory itself where the
/// communicator takes it, else of a copy on the host.
class DeviceTraffic : public Traffic {
 public:
  DeviceTraffic(Communicator& ranks, const Message& message, train::Staging staging)
      : ranks_(&ranks),
        message_(message),
        collective_(collective_named(message.collective).value()),
        // Of which the numbers are: nothing of it is carried out.
        on_host_(make_collective_traffic(ranks, collective_, message)),
        staging_(std::move(staging)) {}

  [[nodiscard]] std::size_t memory() const override { return on_host_->memory(); }
  void write_numbers(std::span<std::byte> memory) const override {
    on_host_->write_numbers(memory);
  }
  void use(std::span<std::byte> memory) override {
    elements_ = {reinterpret_cast<float*>(memory.data()), memory.size() / sizeof(float)};
  }
  void leave() override { elements_ = {}; }
  [[nodiscard]] Mismatch compare(std::span<const std::byte> memory) const override {
    return on_host_->compare(memory);
  }
  [[nodiscard]] std::optional<Bytes> bytes_moved() const override {
    return on_host_->bytes_moved();
  }
  [[nodiscard]] std::string implementation() const override { return device_library(*ranks_); }
  [[nodiscard]] std::optional<backend::CallFacts> facts() override {
    const auto bytes = std::as_writable_bytes(elements_);
    return ranks_->facts_of({.collective = collective_,
                             .type = message_.type,
                             .op = message_.op,
                             .root = message_.root,
                             .from = collective_ == Collective::broadcast
                                         ? std::span<const std::byte>()
                                         : std::span<const std::byte>(bytes),
                             .to = bytes});
  }

 private:
  void carry_out() override {
    staging_.with(elements_, [this](std::span<float> elements) {
      if (collective_ == Collective::broadcast) {
        ranks_->broadcast(std::as_writable_bytes(elements), message_.root);
      } else {
        ranks_->all_reduce(elements, message_.op);
      }
    });
  }

  Communicator* ranks_;
  Message message_;
  Collective collective_;
  std::unique_ptr<Traffic> on_host_;
  train::Staging staging_;
  std::span<float> elements_;
};

}  // namespace

std::string device_library(const Communicator& ranks) {
  return ranks.library() +
         (ranks.takes_device_memory() ? std::string() : std::string(staged_by_host));
}

std::unique_ptr<Traffic> make_device_traffic(Communicator& ranks, const Message& message,
                                             backend::ComputeDevice& device) {
  EXPECT(device.own_memory());
  expect_as_trained(message);
  train::Staging staging;
  together(ranks, [&] {
    if (!ranks.takes_device_memory()) {
      expect_host_memory("its way through the host", Bytes(static_cast<double>(message.bytes)),
                         ranks.node_size());
    }
    staging = train::Staging(device, ranks, message.bytes / sizeof(float));
  });
  return std::make_unique<DeviceTraffic>(ranks, message, std::move(staging));
}

}  // namespace dlscale::bench
