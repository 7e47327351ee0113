#include "backend/compute/cuda/probes/probe_context.hpp"

#include <fmt/format.h>

#include "backend/compute/cuda/runtime/call.hpp"

namespace dlscale::backend::cuda {
namespace {

/// cudaMemcpy of pageable memory to the device may return while the last part is in flight on the
/// default stream, so this waits for that stream.
void move(const std::byte* from, std::byte* to, std::size_t bytes, cudaMemcpyKind kind) {
  const auto what = [bytes] { return fmt::format("{} bytes of a probe", bytes); };
  check(cudaMemcpy(to, from, bytes, kind), "cudaMemcpy", what);
  check(cudaStreamSynchronize(nullptr), "cudaStreamSynchronize", what);
}

}  // namespace

void finish(const ProbeContext& context) {
  check(cudaStreamSynchronize(context.stream.get()), "cudaStreamSynchronize", "a probe");
}

void upload(std::span<const std::byte> from, std::byte* to) {
  move(from.data(), to, from.size(), cudaMemcpyHostToDevice);
}

void download(const std::byte* from, std::span<std::byte> to) {
  move(from, to.data(), to.size(), cudaMemcpyDeviceToHost);
}

}  // namespace dlscale::backend::cuda
