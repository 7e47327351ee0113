#include "backend/compute/cuda/runtime/recording.hpp"

#include <fmt/format.h>

#include <string_view>

#include "backend/compute/cuda/runtime/call.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

class CudaRecording final : public Recording {
 public:
  CudaRecording(const Context& context, GraphExecutable executable)
      : context_(&context), executable_(std::move(executable)) {
    check(cudaGraphUpload(executable_.get(), context.stream), "cudaGraphUpload", "a recording");
  }

  void play() override {
    select_device(context_->device);
    check(cudaGraphLaunch(executable_.get(), context_->stream), "cudaGraphLaunch", "a recording");
  }

 private:
  const Context* context_;
  GraphExecutable executable_;
};

[[noreturn]] void reject_recording(std::string_view reason) {
  throw Unsupported(fmt::format("This work cannot be recorded as a CUDA graph: {}", reason));
}

/// Ends a capture that succeeded.
CudaGraph end_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  const cudaError_t code = cudaStreamEndCapture(stream, &graph);
  CudaGraph owner(graph);
  if (code == cudaSuccess) return owner;
  static_cast<void>(cudaGetLastError());
  reject_recording(fmt::format("{} ({}).", cudaGetErrorString(code), cudaGetErrorName(code)));
}

/// Ends a capture in which an error was thrown.
void drop_capture(cudaStream_t stream) {
  cudaGraph_t graph = nullptr;
  static_cast<void>(cudaStreamEndCapture(stream, &graph));
  const CudaGraph owner(graph);
  static_cast<void>(cudaGetLastError());
}

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

class CudaCopyStream final : public CopyStream {
 public:
  explicit CudaCopyStream(int device) : device_(device), stream_(make_stream()) {}

  void copy(const std::byte* from, std::byte* to, std::size_t bytes) override {
    const auto what = [bytes] { return fmt::format("a copy of {} bytes", bytes); };
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

CudaGraph capture(cudaStream_t stream, const std::function<void()>& work) {
  // Only this thread's calls must be capturable: others may allocate meanwhile.
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture",
        "a recording");
  try {
    work();
    // The work ran before without capture, unless the device itself is broken.
  } catch (const LibraryError& error) {
    drop_capture(stream);
    check(cudaStreamSynchronize(stream), "cudaStreamSynchronize", "a recording");
    reject_recording(error.what());
  } catch (...) {
    drop_capture(stream);
    throw;
  }
  return end_capture(stream);
}

GraphExecutable instantiate(const CudaGraph& graph) {
  cudaGraphExec_t executable = nullptr;
  check(cudaGraphInstantiate(&executable, graph.get(), 0), "cudaGraphInstantiate", "a recording");
  return GraphExecutable(executable);
}

std::unique_ptr<Recording> make_recording(const Context& context,
                                          const std::function<void()>& work) {
  return std::make_unique<CudaRecording>(context, instantiate(capture(context.stream, work)));
}

std::unique_ptr<Mark> make_mark(const Context& context) {
  return std::make_unique<CudaMark>(context.device, context.stream);
}

std::unique_ptr<CopyStream> make_copy_stream(const Context& context) {
  return std::make_unique<CudaCopyStream>(context.device);
}

}  // namespace dlscale::backend::cuda
