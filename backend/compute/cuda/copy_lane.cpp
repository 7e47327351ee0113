#include "backend/compute/cuda/copy_lane.hpp"

#include <fmt/format.h>

#include "backend/compute/cuda/runtime/call.hpp"

namespace dlscale::backend::cuda {

CopyLane::CopyLane(const Context& context)
    : context_(&context), stream_(make_stream()), copied_(make_event()), used_(make_event()) {}

void CopyLane::copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes) {
  const auto what = [bytes] { return fmt::format("a copy ahead of {} bytes", bytes); };
  // CUDA does not wait for an event that was never recorded.
  check(cudaStreamWaitEvent(stream_.get(), used_.get(), 0), "cudaStreamWaitEvent", what);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, stream_.get()), "cudaMemcpyAsync",
        what);
}

void CopyLane::join() {
  record(copied_, stream_.get());
  check(cudaStreamWaitEvent(context_->stream, copied_.get(), 0), "cudaStreamWaitEvent",
        "copies ahead");
  state_ = State::joined;
}

void CopyLane::note_use() {
  if (state_ == State::idle) return;
  record(used_, context_->stream);
  state_ = State::idle;
}

}  // namespace dlscale::backend::cuda
