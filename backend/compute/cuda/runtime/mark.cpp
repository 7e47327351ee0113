#include "backend/compute/cuda/runtime/mark.hpp"

#include <fmt/format.h>

#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"

namespace dlscale::backend::cuda {
namespace {

class CudaMark final : public Mark {
 public:
  CudaMark(int device, cudaStream_t stream) : device_(device), event_(make_event()) {
    record(event_, stream);
  }

  void wait() const override {
    select_device(device_);
    check(cudaEventSynchronize(event_.get()), "cudaEventSynchronize", "the work before a mark");
  }

  [[nodiscard]] Seconds since(const Mark& earlier) const override {
    select_device(device_);
    return elapsed(dynamic_cast<const CudaMark&>(earlier).event_, event_);
  }

 private:
  int device_;
  Event event_;
};

class CudaCourier final : public Courier {
 public:
  explicit CudaCourier(int device) : device_(device), stream_(make_stream()) {}

  void carry(const std::byte* from, std::byte* to, std::size_t bytes) override {
    const auto what = [bytes] { return fmt::format("a courier with {} bytes", bytes); };
    select_device(device_);
    check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_.get()), "cudaMemcpyAsync",
          what);
    check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize", what);
  }

 private:
  int device_;
  Stream stream_;
};

}  // namespace

std::unique_ptr<Mark> make_mark(const Context& context) {
  return std::make_unique<CudaMark>(context.device, context.stream);
}

std::unique_ptr<Courier> make_courier(const Context& context) {
  return std::make_unique<CudaCourier>(context.device);
}

}  // namespace dlscale::backend::cuda
