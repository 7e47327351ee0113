#include <atomic>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/probes/companion.hpp"
#include "backend/compute/cuda/probes/copy_buffers.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_context.hpp"
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
  explicit KernelCompanion(const ProbeContext& context)
      : context_(&context), sink_(sizeof(float)) {}

  void begin(cudaStream_t stream) override {
    record(begun_, stream_.get());
    run_compute(stream_.get(), duration_, context_->multiprocessors,
                reinterpret_cast<float*>(sink_.get()));
    record(ended_, stream_.get());
    wait_for(begun_, stream);
  }
  [[nodiscard]] bool goes_on() const override { return is_pending(ended_); }
  void end() override { wait_for(stream_); }
  [[nodiscard]] Seconds lasted() const override { return elapsed(begun_, ended_); }
  void lengthen() override { duration_ = 2 * duration_; }

 private:
  const ProbeContext* context_;
  Stream stream_ = make_stream();
  Event begun_ = make_event();
  Event ended_ = make_event();
  DeviceMemory sink_;
  Seconds duration_ = 500.0_us;
};

class CopyCompanion final : public Companion {
 public:
  CopyCompanion(const ProbeContext& context, const CopySpec& spec)
      : context_(&context), is_pageable_(spec.memory == HostMemory::pageable), buffers_(spec, 2) {}

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
  [[nodiscard]] std::size_t wrong_bytes() const override { return buffers_.wrong_bytes(); }
  void prepare() override { buffers_.prepare(); }

 private:
  void tell_ready() {
    is_ready_ = true;
    is_ready_.notify_one();
  }
  void issue() {
    try {
      select_device(context_->device);
      if (is_pageable_) tell_ready();  // the first copy may block this thread until it is done
      for (int i = 0; i < copies_; ++i) {
        buffers_.go(stream_.get());
        if (i == 0) tell_ready();
      }
      record(ended_, stream_.get());
    } catch (...) {
      failure_ = std::current_exception();
      tell_ready();
    }
    has_issued_all_ = true;
  }

  const ProbeContext* context_;
  bool is_pageable_;
  CopyBuffers buffers_;
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
std::unique_ptr<Companion> make_kernel_companion(const ProbeContext& context) {
  return std::make_unique<KernelCompanion>(context);
}

/// Issues copies as `spec` says, one after the other, from a thread of its own, because copies of
/// pageable memory block the thread that issues them.
std::unique_ptr<Companion> make_copy_companion(const ProbeContext& context, const CopySpec& spec) {
  return std::make_unique<CopyCompanion>(context, spec);
}

CopySpec opposite(CopySpec spec) {
  spec.direction = spec.direction == Direction::host_to_device ? Direction::device_to_host
                                                               : Direction::host_to_device;
  return spec;
}

std::unique_ptr<Companion> make_companion(const ProbeContext& context, const CopySpec& spec) {
  switch (spec.concurrent) {
    case ConcurrentWork::none:
      return {};
    case ConcurrentWork::copy:
      return make_copy_companion(context, opposite(spec));
    case ConcurrentWork::kernel:
      return make_kernel_companion(context);
  }
  fail_expectation("concurrent is a ConcurrentWork");
}

class CopyProbe final : public Probe {
 public:
  CopyProbe(const ProbeContext& context, const CopySpec& spec)
      : context_(&context),
        spec_(spec),
        buffers_(spec, 1),
        companion_(make_companion(context, spec)) {}

  [[nodiscard]] std::string implementation() const override { return "cudaMemcpyAsync"; }

  [[nodiscard]] std::size_t wrong_elements() override {
    select_device(context_->device);
    buffers_.prepare();
    if (companion_) companion_->prepare();
    static_cast<void>(run());
    return buffers_.wrong_bytes() + (companion_ ? companion_->wrong_bytes() : 0);
  }

  [[nodiscard]] Reading run() override {
    select_device(context_->device);
    return companion_ ? run_accompanied() : run_alone();
  }

 private:
  /// Times the copy once on the host's clock and once on the device's. Holding the device until the
  /// copy is enqueued would count in the host's time; the way from the call to the device would
  /// count in the device's. The host's work for pageable memory is part of both.
  [[nodiscard]] Reading run_alone() const {
    Reading reading;
    const auto start = std::chrono::steady_clock::now();
    buffers_.go(stream());
    finish(*context_);
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start;
    reading.host_time = Seconds(passed.count());
    reading.time = timed();
    return reading;
  }

  /// Throws Unsupported in the first run, which all ranks make together, or never: the environment
  /// decides whether concurrent work is possible.
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
    record(context_->before, stream());
    buffers_.go(stream());
    record(context_->after, stream());
    return elapsed(context_->before, context_->after);
  }

  [[nodiscard]] cudaStream_t stream() const { return context_->stream.get(); }

  const ProbeContext* context_;
  CopySpec spec_;
  CopyBuffers buffers_;
  std::unique_ptr<Companion> companion_;
  bool had_company_ = false;
};

}  // namespace

std::unique_ptr<Probe> make_copy_probe(const ProbeContext& context, const CopySpec& spec) {
  EXPECT(spec.bytes >= 1);
  if (spec.direction == Direction::within_device && spec.concurrent == ConcurrentWork::copy) {
    throw Unsupported(
        "a copy within the device has no other direction. Copy it alone, or beside a "
        "kernel.");
  }
  return std::make_unique<CopyProbe>(context, spec);
}

}  // namespace dlscale::backend::cuda
