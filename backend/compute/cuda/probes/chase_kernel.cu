#include <string_view>

#include "backend/compute/cuda/probes/cycle.hpp"
#include "backend/compute/cuda/probes/kernels.hpp"
#include "backend/compute/cuda/probes/probe_kernel.cuh"
#include "backend/compute/cuda/runtime/call.hpp"

namespace dlscale::backend::cuda {
namespace {

constexpr unsigned block = 256;
constexpr std::string_view what = "a pointer chase";
/// Most nodes to read into a multiprocessor's cache; it has fewer lines than that.
constexpr std::uint32_t most_read_by_one = 65536;

template <ChasePath path>
__device__ std::uint32_t read(const std::uint32_t* from) {
  std::uint32_t value = 0;
  if constexpr (path == ChasePath::all_caches) {
    asm volatile("ld.global.ca.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  } else {
    asm volatile("ld.global.cg.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  }
  return value;
}

struct Nodes {
  const std::uint32_t* words;
  std::uint32_t count;
  std::uint32_t stride;  ///< in words

  /// Reads every `step`-th node from `first`; returns a number that depends on all of them.
  template <ChasePath path>
  __device__ std::uint32_t read_all(std::uint32_t first, std::uint32_t step) const {
    std::uint32_t sum = 0;
    for (std::uint64_t node = first; node < count; node += step) {
      sum += read<path>(words + node * stride);
    }
    return sum;
  }
};

/// Brings the nodes into the shared cache. The sum of all threads is never written, which the
/// compiler cannot know.
__global__ void __launch_bounds__(block) read_nodes_kernel(Nodes nodes, ChaseResult* result) {
  const std::uint32_t sum =
      nodes.read_all<ChasePath::shared_l2>(blockIdx.x * block + threadIdx.x, gridDim.x * block);
  if (sum == 1) result->unused = sum;
}

/// An access with a lap ends when the word it read has been stored, so it must have arrived [Mei,
/// Chu 2017].
template <ChasePath path>
__global__ void __launch_bounds__(block) chase_kernel(Nodes nodes, ChaseResult* result) {
  __shared__ volatile std::uint32_t visited[chase_laps];
  __shared__ volatile std::uint32_t cycles[chase_laps];
  if (nodes.count <= most_read_by_one) {
    const std::uint32_t sum = nodes.read_all<path>(threadIdx.x, block);
    if (sum == 1) result->unused = sum;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;

  std::uint32_t at = result->position;
  for (std::uint32_t lap = 0; lap < chase_empty_laps; ++lap) {
    const std::uint32_t start = lap_clock();
    visited[lap] = at;
    cycles[lap] = lap_clock() - start;
  }
  for (std::uint32_t lap = 0; lap < chase_empty_laps; ++lap) {
    result->empty_cycles[lap] = cycles[lap];
  }
  for (std::uint32_t lap = 0; lap < chase_laps; ++lap) {
    const std::uint32_t start = lap_clock();
    at = read<path>(nodes.words + at);
    visited[lap] = at;
    cycles[lap] = lap_clock() - start;
  }
  const std::uint64_t start = nanosecond_clock();
  for (std::uint32_t step = 0; step < chase_steps; ++step) at = read<path>(nodes.words + at);
  result->position = at;  // waits for the last access
  result->nanoseconds = nanosecond_clock() - start;
  for (std::uint32_t lap = 0; lap < chase_laps; ++lap) {
    result->visited[lap] = visited[lap];
    result->cycles[lap] = cycles[lap];
  }
}

template <class Kernel>
void prefer_cache(Kernel* kernel) {
  check(cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout,
                             cudaSharedmemCarveoutMaxL1),
        "cudaFuncSetAttribute", what);
}

}  // namespace

void prepare_chase() {
  prefer_cache(read_nodes_kernel);
  prefer_cache(chase_kernel<ChasePath::all_caches>);
  prefer_cache(chase_kernel<ChasePath::shared_l2>);
}

void run_chase(cudaStream_t stream, const ChaseSpec& spec, int multiprocessors,
               const std::uint32_t* words, ChaseResult* result) {
  const Nodes nodes{words, static_cast<std::uint32_t>(chase_nodes(spec)),
                    static_cast<std::uint32_t>(spec.stride / sizeof(std::uint32_t))};
  const auto blocks = 4 * static_cast<unsigned>(multiprocessors);
  launch_kernel(stream, {"read_nodes_kernel", what, blocks, block}, read_nodes_kernel, nodes,
                result);
  const auto kernel = spec.path == ChasePath::all_caches ? chase_kernel<ChasePath::all_caches>
                                                         : chase_kernel<ChasePath::shared_l2>;
  launch_kernel(stream, {"chase_kernel", what, 1, block}, kernel, nodes, result);
}

}  // namespace dlscale::backend::cuda
