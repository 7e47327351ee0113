#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backend/compute/device_probes.hpp"

/// The kernels of the probes. All enqueue on `stream` and return.
namespace dlscale::backend::cuda {

/// `passes` passes over arrays of `bytes` each. `b` is not read where the pass reads one array.
void run_passes(cudaStream_t stream, const ArraySpec& spec, int passes, int multiprocessors,
                const double* a, const double* b, double* out);

inline constexpr std::uint32_t chase_laps = 1024;
inline constexpr std::uint32_t chase_empty_laps = 32;
inline constexpr std::uint32_t chase_steps = 4096;

/// What a run of the chase leaves. It is small, and so is what it keeps in shared memory, which
/// takes its room from the cache of the multiprocessor.
struct ChaseResult {
  std::uint32_t position;  ///< read at the start, written at the end: where it stands
  std::uint32_t unused;    ///< a number that depends on what was read beforehand
  std::uint64_t nanoseconds;
  std::uint32_t visited[chase_laps];
  std::uint32_t cycles[chase_laps];
  std::uint32_t empty_cycles[chase_empty_laps];
};

/// Before any run on a device: of the memory of a multiprocessor, of which its cache and shared
/// memory are parts, the kernels want as much for the cache as there is. Otherwise the driver
/// divides it, also as the kernel before it liked it, and the capacity of the cache would be
/// another from run to run.
void prepare_chase();

/// Reads all nodes on all multiprocessors, then on the one that chases: chase_laps accesses with
/// laps, chase_steps without.
void run_chase(cudaStream_t stream, const ChaseSpec& spec, int multiprocessors,
               const std::uint32_t* words, ChaseResult* result);

inline constexpr std::uint32_t bank_loads = 4096;  ///< that wait for each other
inline constexpr std::uint32_t bank_chains = 2;    ///< of a thread, for throughput
inline constexpr std::uint32_t bank_warps = 32;    ///< for throughput

struct BankResult {
  std::uint64_t cycles;  ///< from the first load of a warp to the last
  std::uint64_t nanoseconds;
  std::uint32_t final_words[bank_warps * 32 * bank_chains];  ///< of each thread, chain by chain
};

void run_banks(cudaStream_t stream, const BankSpec& spec, BankResult* result);

/// A kernel of one thread that does nothing; if `counter` is not null it counts itself there.
void run_nothing(cudaStream_t stream, std::uint32_t* counter);

/// Keeps every multiprocessor computing for that long, hardly touching memory.
void run_compute(cudaStream_t stream, Seconds duration, int multiprocessors, float* sink);

}  // namespace dlscale::backend::cuda
