#include "backend/compute/cuda/probes/company.hpp"

#include <atomic>
#include <exception>
#include <thread>

#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/runtime/call.hpp"

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

}  // namespace

std::unique_ptr<Companion> make_kernel_companion(const Stand& stand) {
  return std::make_unique<KernelCompanion>(stand);
}

std::unique_ptr<Companion> make_copy_companion(const Stand& stand, const CopySpec& spec) {
  return std::make_unique<CopyCompanion>(stand, spec);
}

}  // namespace dlscale::backend::cuda
