#include "backend/compute/cuda/probes/banks.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_kernel.cuh"

namespace dlscale::backend::cuda {
namespace {

__device__ std::uint32_t read_shared(std::uint32_t address) {
  std::uint32_t value = 0;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}

/// The words hold addresses in shared memory, so that a load depends only on the previous one.
template <int chains, int warps>
__global__ void __launch_bounds__(warps* warp_lanes)
    bank_kernel(BankRing ring, BankResult* result) {
  __shared__ std::uint32_t words[bank_words];
  __shared__ std::uint64_t starts[warps];
  __shared__ std::uint64_t ends[warps];
  const std::uint32_t lane = threadIdx.x % warp_lanes;
  const std::uint32_t warp = threadIdx.x / warp_lanes;
  const auto base = static_cast<std::uint32_t>(__cvta_generic_to_shared(words));
  const auto address = [base](std::uint32_t word) {
    return base + word * static_cast<std::uint32_t>(sizeof(std::uint32_t));
  };
  if (warp == 0) words[ring.word(lane, 0)] = address(ring.word(lane, 1));
  __syncthreads();

  std::uint32_t at[chains];
  for (int chain = 0; chain < chains; ++chain) {
    at[chain] = address(ring.word(lane, static_cast<std::uint32_t>(chain)));
  }
  __syncthreads();
  const std::uint64_t nanoseconds = nanosecond_clock();
  const std::uint64_t start = cycle_clock();
#pragma unroll 16
  for (std::uint32_t load = 0; load < bank_loads; ++load) {
#pragma unroll
    for (int chain = 0; chain < chains; ++chain) at[chain] = read_shared(at[chain]);
  }
  for (int chain = 0; chain < chains; ++chain) {  // waits for the last loads
    result->final_words[threadIdx.x * chains + chain] =
        (at[chain] - base) / static_cast<std::uint32_t>(sizeof(std::uint32_t));
  }
  const std::uint64_t end = cycle_clock();
  if (lane == 0) {
    starts[warp] = start;
    ends[warp] = end;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  result->nanoseconds = nanosecond_clock() - nanoseconds;
  std::uint64_t first = starts[0];
  std::uint64_t last = ends[0];
  for (int i = 1; i < warps; ++i) {
    if (starts[i] < first) first = starts[i];
    if (ends[i] > last) last = ends[i];
  }
  result->cycles = last - first;
}

}  // namespace

void run_banks(cudaStream_t stream, const BankSpec& spec, BankResult* result) {
  const BankRing ring{static_cast<std::uint32_t>(spec.stride)};
  ProbeKernel kernel{"bank_kernel", "loads from shared memory", 1, warp_lanes};
  if (spec.load == BankLoad::latency) {
    launch_kernel(stream, kernel, bank_kernel<1, 1>, ring, result);
    return;
  }
  kernel.threads *= bank_warps;
  launch_kernel(stream, kernel, bank_kernel<bank_chains, bank_warps>, ring, result);
}

}  // namespace dlscale::backend::cuda
