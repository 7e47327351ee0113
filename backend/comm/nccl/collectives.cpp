#include "backend/comm/nccl/collectives.hpp"

#include <utility>

#include <fmt/format.h>

#include "backend/comm/nccl/call.hpp"
#include "backend/comm/nccl/communicator.hpp"
#include "backend/comm/nccl/enqueue.hpp"
#include "backend/comm/nccl/profile.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::gpu_comm {
namespace {

NcclCommunicator& expect_nccl(Communicator& over) {
  auto* communicator = dynamic_cast<NcclCommunicator*>(&over);
  if (communicator != nullptr) return *communicator;
  throw Unsupported(fmt::format(
      "The collectives of NCCL cannot be measured over {}. Choose the communicator nccl.",
      over.library()));
}

/// A CUDA event with timing.
class Event {
 public:
  Event() { check(cudaEventCreate(&event_), "cudaEventCreate", "timing"); }
  ~Event() { static_cast<void>(cudaEventDestroy(event_)); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  void record(Stream stream) {
    check(cudaEventRecord(event_, stream), "cudaEventRecord", "timing");
  }
  [[nodiscard]] Seconds since(const Event& earlier) const {
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, earlier.event_, event_), "cudaEventElapsedTime",
          "timing");
    return Seconds(1e-3 * static_cast<double>(milliseconds));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

std::string gpu_memory(std::size_t bytes) {
  return fmt::format("{} bytes of messages", bytes);
}

}  // namespace

GpuMemory::GpuMemory(int device, std::size_t bytes) : device_(device), bytes_(bytes) {
  use_device(device);
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes == 0 ? 1 : bytes), "cudaMalloc", gpu_memory(bytes));
  data_ = static_cast<std::byte*>(memory);
}

GpuMemory::GpuMemory(GpuMemory&& other) noexcept
    : device_(other.device_), bytes_(other.bytes_), data_(std::exchange(other.data_, nullptr)) {}

GpuMemory::~GpuMemory() {
  if (data_ == nullptr) return;
  static_cast<void>(cudaSetDevice(device_));
  static_cast<void>(cudaFree(data_));
}

void GpuMemory::write(std::span<const std::byte> from, std::size_t offset) {
  EXPECT(offset + from.size() <= bytes_);
  use_device(device_);
  check(cudaMemcpy(data_ + offset, from.data(), from.size(), cudaMemcpyHostToDevice), "cudaMemcpy",
        gpu_memory(from.size()));
  // With pageable memory the last part may still be in transfer [CUDA Runtime API, API
  // synchronization behavior]. The links' streams do not wait for the default stream, which does
  // the transfer.
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize", gpu_memory(from.size()));
}

void GpuMemory::read(std::span<std::byte> to, std::size_t offset) const {
  EXPECT(offset + to.size() <= bytes_);
  use_device(device_);
  check(cudaMemcpy(to.data(), data_ + offset, to.size(), cudaMemcpyDeviceToHost), "cudaMemcpy",
        gpu_memory(to.size()));
}

struct Collectives::Impl {
  explicit Impl(NcclCommunicator& communicator)
      : over(communicator), link({over.gpu(), over.rank(), over.size()}, agree_on_link(over)) {}

  NcclCommunicator& over;
  Link link;
};

Collectives::Collectives(Communicator& over) : impl_(std::make_unique<Impl>(expect_nccl(over))) {}

Collectives::~Collectives() = default;

GpuMemory Collectives::allocate(std::size_t bytes) const {
  return {impl_->over.gpu(), bytes};
}

Stream Collectives::stream() const {
  return impl_->link.stream();
}

void Collectives::enqueue(const Exchange& exchange, const std::byte* from, std::byte* to,
                          Stream stream) {
  impl_->link.enter();
  gpu_comm::enqueue(impl_->link, exchange, from, to, stream);
}

void Collectives::group(const std::function<void()>& calls) {
  Link& link = impl_->link;
  link.enter();
  in_group(link, calls);
}

void Collectives::wait(Stream stream) {
  impl_->link.enter();
  impl_->link.wait(stream);
}

Seconds Collectives::time(Stream stream, const std::function<void()>& work) {
  impl_->link.enter();
  Event begin;
  Event end;
  begin.record(stream);
  work();
  end.record(stream);
  impl_->link.wait(stream);
  return end.since(begin);
}

std::optional<Seconds> Collectives::estimate(const Exchange& exchange) {
  Expectation expectation = expected_time(impl_->over, impl_->link.end(), exchange);
  if (!expectation.unknown.empty()) throw Unsupported(expectation.unknown);
  return expectation.time;
}

std::optional<Choice> Collectives::choice(const Exchange& exchange, const std::byte* from,
                                          std::byte* to, Stream stream) {
  Profile profile;
  enqueue(exchange, from, to, stream);
  wait(stream);
  return choice_in(profile, impl_->link, exchange);
}

}  // namespace dlscale::backend::gpu_comm
