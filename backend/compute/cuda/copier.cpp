#include "backend/compute/cuda/copier.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstring>

#include "backend/compute/cuda/kernels/kernels.hpp"
#include "backend/compute/cuda/runtime/call.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

enum class Side { host, device };

/// Memory unknown to CUDA is pageable host memory.
Side side_of(const std::byte* data) {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, data), "cudaPointerGetAttributes", "a copy");
  const bool device =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return device ? Side::device : Side::host;
}

/// Whether the bytes are the same. tf32 is f32 in memory, but is rounded when it is stored.
bool same_bytes(const TensorDesc& from, const TensorDesc& to) {
  const bool one_pixel = from.dims[2] == 1 && from.dims[3] == 1;
  const bool same_order = from.layout.name == to.layout.name || from.dims[1] == 1 || one_pixel;
  return from.dtype == to.dtype && same_order;
}

std::string describe(const Tensor& from, const Tensor& to) {
  return fmt::format("a copy of {} from {} {} to {} {}", fmt::join(from.desc.dims, " x "),
                     dtype_name(from.desc.dtype), from.desc.layout.name, dtype_name(to.desc.dtype),
                     to.desc.layout.name);
}

void expect_plain_layout(const Tensor& tensor) {
  if (tensor.desc.layout.name == "nchw" || tensor.desc.layout.name == "nhwc") return;
  throw Unsupported(
      fmt::format("cuda: layout {} is another device's (this one has nchw and nhwc). "
                  "Copy to a plain tensor first.",
                  tensor.desc.layout.name));
}

}  // namespace

void Copier::copy(const Tensor& from, const Tensor& to) {
  EXPECT(from.desc.dims == to.desc.dims);
  expect_plain_layout(from);
  expect_plain_layout(to);
  const Side source = side_of(from.data);
  const Side target = side_of(to.data);
  if (source == Side::host && target == Side::device) return upload(from, to);
  if (source == Side::device && target == Side::host) return download(from, to);
  if (source == Side::device) {
    if (same_bytes(from.desc, to.desc)) return move(from, to, cudaMemcpyDeviceToDevice);
    return convert(context_->stream, from, to);
  }
  if (!same_bytes(from.desc, to.desc)) {
    throw Unsupported(describe(from, to) + ": neither lies on the device, which does conversions.");
  }
  std::memcpy(to.data, from.data, to.desc.layout.bytes);
}

void Copier::upload(const Tensor& from, const Tensor& to) {
  if (same_bytes(from.desc, to.desc)) return move(from, to, cudaMemcpyHostToDevice);
  const Tensor between{from.desc, area(from.desc.layout.bytes)};
  move(from, between, cudaMemcpyHostToDevice);
  convert(context_->stream, between, to);
}

void Copier::download(const Tensor& from, const Tensor& to) {
  if (same_bytes(from.desc, to.desc)) return move(from, to, cudaMemcpyDeviceToHost);
  const Tensor between{to.desc, area(to.desc.layout.bytes)};
  convert(context_->stream, from, between);
  move(between, to, cudaMemcpyDeviceToHost);
}

void Copier::move(const Tensor& from, const Tensor& to, cudaMemcpyKind kind) {
  check(cudaMemcpyAsync(to.data, from.data, to.desc.layout.bytes, kind, context_->stream),
        "cudaMemcpyAsync", [&] { return describe(from, to); });
}

std::byte* Copier::area(std::size_t bytes) {
  // Freeing waits for pending uses of the old area.
  if (area_.bytes() < bytes) area_ = DeviceMemory(bytes);
  return area_.get();
}

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
