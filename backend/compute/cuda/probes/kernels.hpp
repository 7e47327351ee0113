#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/compute/device_probes.hpp"

/// The kernels of the probes. All enqueue on `stream` and return.
namespace dlscale::backend::cuda {

/// Runs `passes` passes over arrays of `bytes` each. `b` is not read where the pass reads one
/// array.
void run_passes(cudaStream_t stream, const ArraySpec& spec, int passes, int multiprocessors,
                const double* a, const double* b, double* out);

inline constexpr std::uint32_t chase_laps = 1024;
inline constexpr std::uint32_t chase_empty_laps = 32;
inline constexpr std::uint32_t chase_steps = 4096;

/// Result of a run of the chase. It is small, and so is the chase's shared memory, which takes its
/// room from the multiprocessor's cache.
struct ChaseResult {
  std::uint32_t position;  ///< current word: read at the start, written at the end
  std::uint32_t unused;    ///< a number that depends on all preliminary reads
  std::uint64_t nanoseconds;
  std::uint32_t visited[chase_laps];
  std::uint32_t cycles[chase_laps];
  std::uint32_t empty_cycles[chase_empty_laps];
};

/// Call before any run on a device. Requests the largest possible cache out of the memory that a
/// multiprocessor divides between cache and shared memory. Otherwise the driver divides it, partly
/// as the previous kernel preferred, and the cache's capacity would vary from run to run.
void prepare_chase();

/// Reads all nodes on all multiprocessors, then on the chasing one. Then makes chase_laps accesses
/// with laps, chase_steps without.
void run_chase(cudaStream_t stream, const ChaseSpec& spec, int multiprocessors,
               const std::uint32_t* words, ChaseResult* result);

inline constexpr std::uint32_t bank_loads = 4096;  ///< loads that depend on each other
inline constexpr std::uint32_t bank_chains = 2;    ///< per thread, for throughput
inline constexpr std::uint32_t bank_warps = 32;    ///< for throughput

struct BankResult {
  std::uint64_t cycles;  ///< from the first load of a warp to its last
  std::uint64_t nanoseconds;
  std::uint32_t final_words[bank_warps * 32 * bank_chains];  ///< for each thread, chain by chain
};

void run_banks(cudaStream_t stream, const BankSpec& spec, BankResult* result);

/// Enqueues a kernel of one thread that does nothing; if `counter` is not null it increments it.
void run_nothing(cudaStream_t stream, std::uint32_t* counter);

/// Keeps every multiprocessor computing for `duration`, with hardly any memory access.
void run_compute(cudaStream_t stream, Seconds duration, int multiprocessors, float* sink);

}  // namespace dlscale::backend::cuda
