#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/probes/companion.hpp"
#include "backend/compute/cuda/probes/copy_way.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/stand.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// Whether work recorded before the event is still pending.
bool is_pending(const Event& event) {
  const cudaError_t code = cudaEventQuery(event.get());
  if (code == cudaErrorNotReady) {
    static_cast<void>(cudaGetLastError());  // an answer, not an error
    return true;
  }
  check(code, "cudaEventQuery", "what goes on beside a copy");
  return false;
}

void wait_for(const Event& event, cudaStream_t stream) {
  check(cudaStreamWaitEvent(stream, event.get(), 0), "cudaStreamWaitEvent",
        "what goes on beside a copy");
}

void wait_for(const Stream& stream) {
  check(cudaStreamSynchronize(stream.get()), "cudaStreamSynchronize", "what goes on beside a copy");
}

class KernelCompanion final : public Companion {
 public:
  explicit KernelCompanion(const Stand& stand) : stand_(&stand), sink_(sizeof(float)) {}

  void begin(cudaStream_t stream) override {
    record(begun_, stream_.get());
    run_compute(stream_.get(), duration_, stand_->multiprocessors,
                reinterpret_cast<float*>(sink_.get()));
    record(ended_, stream_.get());
    wait_for(begun_, stream);
  }
  [[nodiscard]] bool goes_on() const override { return is_pending(ended_); }
  void end() override { wait_for(stream_); }
  [[nodiscard]] Seconds lasted() const override { return elapsed(begun_, ended_); }
  void lengthen() override { duration_ = 2 * duration_; }

 private:
  const Stand* stand_;
  Stream stream_ = make_stream();
  Event begun_ = make_event();
  Event ended_ = make_event();
  DeviceMemory sink_;
  Seconds duration_ = 500.0_us;
};

class CopyCompanion final : public Companion {
 public:
  CopyCompanion(const Stand& stand, const CopySpec& spec)
      : stand_(&stand), is_pageable_(spec.memory == HostMemory::pageable), way_(spec, 2) {}

  void begin(cudaStream_t stream) override {
    record(begun_, stream_.get());
    wait_for(begun_, stream);
    has_issued_all_ = false;
    is_ready_ = false;
    failure_ = nullptr;
    thread_ = std::jthread([this] { issue(); });
    is_ready_.wait(false);
  }
  [[nodiscard]] bool goes_on() const override { return !has_issued_all_ || is_pending(ended_); }
  void end() override {
    thread_.join();
    if (failure_) std::rethrow_exception(failure_);
    wait_for(stream_);
  }
  [[nodiscard]] Seconds lasted() const override { return elapsed(begun_, ended_); }
  void lengthen() override { copies_ *= 2; }
  [[nodiscard]] std::size_t wrong_bytes() const override { return way_.wrong_bytes(); }
  void prepare() override { way_.prepare(); }

 private:
  void tell_ready() {
    is_ready_ = true;
    is_ready_.notify_one();
  }
  void issue() {
    try {
      select_device(stand_->device);
      if (is_pageable_) tell_ready();  // the first copy may block this thread until it is done
      for (int i = 0; i < copies_; ++i) {
        way_.go(stream_.get());
        if (i == 0) tell_ready();
      }
      record(ended_, stream_.get());
    } catch (...) {
      failure_ = std::current_exception();
      tell_ready();
    }
    has_issued_all_ = true;
  }

  const Stand* stand_;
  bool is_pageable_;
  CopyWay way_;
  Stream stream_ = make_stream();
  Event begun_ = make_event();
  Event ended_ = make_event();
  int copies_ = 2;
  std::atomic<bool> is_ready_{false};
  std::atomic<bool> has_issued_all_{true};
  std::exception_ptr failure_;
  std::jthread thread_;
};

/// A kernel on all multiprocessors.
std::unique_ptr<Companion> make_kernel_companion(const Stand& stand) {
  return std::make_unique<KernelCompanion>(stand);
}

/// Issues copies as `spec` says, one after the other, from a thread of its own, because copies of
/// pageable memory block the thread that issues them.
std::unique_ptr<Companion> make_copy_companion(const Stand& stand, const CopySpec& spec) {
  return std::make_unique<CopyCompanion>(stand, spec);
}

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
        "a copy within the device has no other direction. Copy it alone, or beside a "
        "kernel.");
  }
  return std::make_unique<CopyProbe>(stand, spec);
}

}  // namespace dlscale::backend::cuda
