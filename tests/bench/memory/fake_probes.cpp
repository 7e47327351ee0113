#include "tests/bench/memory/fake_probes.hpp"

#include <functional>
#include <string>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

using namespace backend;

class FakeProbe final : public Probe {
 public:
  FakeProbe(ProbeFault fault, std::string name, Reading reading)
      : fault_(fault), name_(std::move(name)), reading_(std::move(reading)) {}

  [[nodiscard]] std::string implementation() const override { return name_; }
  [[nodiscard]] std::size_t wrong_elements() override {
    return fault_ == ProbeFault::wrong_elements ? 3 : 0;
  }
  [[nodiscard]] Reading run() override {
    if (fault_ == ProbeFault::broken) throw LibraryError("the probe broke");
    Reading reading = reading_;
    reading.time += Seconds(1e-9 * runs_);
    if (reading.host_time) *reading.host_time += Seconds(1e-9 * runs_);
    ++runs_;
    return reading;
  }

 private:
  ProbeFault fault_;
  std::string name_;
  Reading reading_;
  int runs_ = 0;
};

class FakeProbes final : public DeviceProbes {
 public:
  explicit FakeProbes(ProbeFault fault) : fault_(fault) {}

  [[nodiscard]] const ProbedDevice& device() const override { return device_; }

  [[nodiscard]] std::unique_ptr<Probe> arrays(const ArraySpec& spec) override {
    return make("arrays", Seconds(1e-12 * static_cast<double>(spec.bytes)), {});
  }
  [[nodiscard]] std::unique_ptr<Probe> chase(const ChaseSpec& spec) override {
    const bool skips_first = spec.path == ChasePath::shared_l2;
    constexpr std::size_t first_cache = std::size_t{256} * 1024;
    constexpr std::size_t last_cache = 16 * first_cache;
    const double cycles = spec.bytes <= first_cache && !skips_first ? 30
                          : spec.bytes <= last_cache                ? 200
                                                                    : 600;
    return make("chase", Seconds(1e-9 * cycles), {}, {cycles, cycles, cycles + 1}, {10, 10});
  }
  [[nodiscard]] std::unique_ptr<Probe> banks(const BankSpec& spec) override {
    return make("banks", 1.0_us, {}, {20.0 + spec.stride});
  }
  [[nodiscard]] std::unique_ptr<Probe> launches(const LaunchSpec& spec) override {
    if (fault_ == ProbeFault::no_graphs && spec.method == LaunchMethod::graph) {
      throw Unsupported("this device has no graphs");
    }
    return make("launches", 2.0_us, 3.0_us);
  }
  [[nodiscard]] std::unique_ptr<Probe> copies(const CopySpec& spec) override {
    if (spec.direction == Direction::within_device && spec.concurrent == ConcurrentWork::copy) {
      throw Unsupported("no other direction");
    }
    const double share = spec.concurrent == ConcurrentWork::copy ? 2 : 1;
    const Seconds time = 5.0_us + Seconds(share * static_cast<double>(spec.bytes) / 10e9);
    if (spec.concurrent != ConcurrentWork::none) return make("copies", time, {});
    return make("copies", time, time + 4.0_us);
  }

 private:
  [[nodiscard]] std::unique_ptr<Probe> make(std::string name, Seconds time,
                                            std::optional<Seconds> host_time,
                                            std::vector<double> cycles = {},
                                            std::vector<double> empty_cycles = {}) const {
    return std::make_unique<FakeProbe>(fault_, std::move(name),
                                       Reading{.time = time,
                                               .host_time = host_time,
                                               .cycles = std::move(cycles),
                                               .empty_cycles = std::move(empty_cycles)});
  }

  ProbeFault fault_;
  ProbedDevice device_{.name = "fake",
                       .bus_id = "0000:3b:00.0",
                       .memory = 1024_MiB,
                       .last_level_cache = 4_MiB,
                       .multiprocessors = 4};
};

}  // namespace

std::unique_ptr<DeviceProbes> make_fake_probes(ProbeFault fault) {
  return std::make_unique<FakeProbes>(fault);
}

}  // namespace dlscale::bench
