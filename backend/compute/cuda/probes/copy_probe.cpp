#include <chrono>
#include <memory>

#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/probes/company.hpp"
#include "backend/compute/cuda/probes/copy_way.hpp"
#include "backend/compute/cuda/probes/stand.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

CopySpec opposite(CopySpec spec) {
  spec.direction = spec.direction == Direction::host_to_device ? Direction::device_to_host
                                                               : Direction::host_to_device;
  return spec;
}

std::unique_ptr<Companion> make_companion(const Stand& stand, const CopySpec& spec) {
  switch (spec.company) {
    case Company::solo:
      return {};
    case Company::bidirectional:
      return make_copy_companion(stand, opposite(spec));
    case Company::kernel:
      return make_kernel_companion(stand);
  }
  fail_expectation("company is a Company");
}

class CopyProbe final : public Probe {
 public:
  CopyProbe(const Stand& stand, const CopySpec& spec)
      : stand_(&stand), spec_(spec), way_(spec, 1), companion_(make_companion(stand, spec)) {}

  [[nodiscard]] std::string implementation() const override { return "cudaMemcpyAsync"; }

  [[nodiscard]] std::size_t wrong_elements() override {
    select_device(stand_->device);
    way_.prepare();
    if (companion_) companion_->prepare();
    static_cast<void>(run());
    return way_.wrong_bytes() + (companion_ ? companion_->wrong_bytes() : 0);
  }

  [[nodiscard]] Reading run() override {
    select_device(stand_->device);
    return companion_ ? run_accompanied() : run_alone();
  }

 private:
  /// Times the copy once on the host's clock and once on the device's. Holding the device until the
  /// copy is enqueued would count in the host's time; the way from the call to the device would
  /// count in the device's. The host's work for pageable memory is part of both.
  [[nodiscard]] Reading run_alone() const {
    Reading reading;
    const auto start = std::chrono::steady_clock::now();
    way_.go(stream());
    finish(*stand_);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    reading.host_time = Seconds(passed.count());
    reading.time = timed();
    return reading;
  }

  /// Throws Unsupported in the first run, which all ranks make together, or never: the environment
  /// decides whether company is possible.
  [[nodiscard]] Reading run_accompanied() {
    Reading reading;
    try {
      reading.time = time_beside(*companion_, stream(), [this] { return timed(); });
    } catch (const Unsupported& error) {
      if (!had_company_) throw;
      throw LibraryError(error.what());
    }
    had_company_ = true;
    return reading;
  }

  [[nodiscard]] Seconds timed() const {
    const bool is_pageable =
        spec_.direction != Direction::within_device && spec_.memory == HostMemory::pageable;
    if (!is_pageable) hold(stream(), short_hold);
    record(stand_->before, stream());
    way_.go(stream());
    record(stand_->after, stream());
    return elapsed(stand_->before, stand_->after);
  }

  [[nodiscard]] cudaStream_t stream() const { return stand_->stream.get(); }

  const Stand* stand_;
  CopySpec spec_;
  CopyWay way_;
  std::unique_ptr<Companion> companion_;
  bool had_company_ = false;
};

}  // namespace

std::unique_ptr<Probe> make_copy_probe(const Stand& stand, const CopySpec& spec) {
  EXPECT(spec.bytes >= 1);
  if (spec.direction == Direction::within_device && spec.company == Company::bidirectional) {
    throw Unsupported(
        "a copy within the device has no other direction. Choose solo or kernel as its company.");
  }
  return std::make_unique<CopyProbe>(stand, spec);
}

}  // namespace dlscale::backend::cuda
