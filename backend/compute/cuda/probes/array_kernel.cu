#include <algorithm>

#include "backend/compute/cuda/probes/array_pass.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_kernel.cuh"

namespace dlscale::backend::cuda {
namespace {

constexpr unsigned block = 256;
constexpr std::size_t blocks_per_multiprocessor = 8;

/// A thread processes the same elements in each pass, so passes need not wait for each other. It
/// bypasses its own cache when it reads them.
template <class Code>
__global__ void __launch_bounds__(block) passes_kernel(Code code, std::size_t packs, int passes) {
  const std::size_t threads = std::size_t{gridDim.x} * block;
  for (int pass = 0; pass < passes; ++pass) {
    for (std::size_t i = std::size_t{blockIdx.x} * block + threadIdx.x; i < packs; i += threads) {
      code(i);
    }
    asm volatile("" ::: "memory");  // the next pass reads and writes again
  }
}

template <ArrayPass pass>
void launch(cudaStream_t stream, std::size_t bytes, int passes, int multiprocessors,
            const PassCode<pass>& code) {
  const std::size_t packs = bytes / sizeof(double) / PassCode<pass>::width;
  const std::size_t most = blocks_per_multiprocessor * static_cast<std::size_t>(multiprocessors);
  const auto blocks = static_cast<unsigned>(std::min((packs + block - 1) / block, most));
  launch_kernel(stream, {"passes_kernel", "a pass over arrays", blocks, block},
                passes_kernel<PassCode<pass>>, code, packs, passes);
}

}  // namespace

void run_passes(cudaStream_t stream, const ArraySpec& spec, int passes, int multiprocessors,
                const double* a, const double* b, double* out) {
  const auto go = [&]<ArrayPass pass>(PassCode<pass> code) {
    launch(stream, spec.bytes, passes, multiprocessors, code);
  };
  switch (spec.pass) {
    case ArrayPass::copy:
      go(PassCode<ArrayPass::copy>{a, b, out});
      break;
    case ArrayPass::scale:
      go(PassCode<ArrayPass::scale>{a, b, out});
      break;
    case ArrayPass::add:
      go(PassCode<ArrayPass::add>{a, b, out});
      break;
    case ArrayPass::triad:
      go(PassCode<ArrayPass::triad>{a, b, out});
      break;
  }
}

}  // namespace dlscale::backend::cuda
