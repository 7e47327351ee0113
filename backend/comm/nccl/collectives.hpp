#pragma once
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>

#include "backend/comm/communicator.hpp"
#include "backend/comm/nccl/choice.hpp"
#include "backend/comm/nccl/exchange.hpp"
#include "core/base/units.hpp"

struct CUstream_st;  ///< cudaStream_t points to this type

namespace dlscale::backend::gpu_comm {

using Stream = ::CUstream_st*;

/// Memory of the rank's GPU. Destroy it before the Collectives that allocated it.
class GpuMemory {
 public:
  GpuMemory(int device, std::size_t bytes);
  ~GpuMemory();
  GpuMemory(GpuMemory&& other) noexcept;
  GpuMemory& operator=(GpuMemory&& other) = delete;
  GpuMemory(const GpuMemory&) = delete;
  GpuMemory& operator=(const GpuMemory&) = delete;

  [[nodiscard]] std::byte* data() const { return data_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// Both wait for the copy, and for nothing else.
  void write(std::span<const std::byte> from, std::size_t offset = 0);
  void read(std::span<std::byte> to, std::size_t offset = 0) const;

 private:
  int device_;
  std::size_t bytes_;
  std::byte* data_ = nullptr;
};

/// NCCL's collectives, for measurements. They run over a link made for the ranks of a communicator,
/// on the caller's streams. One thread at a time.
class Collectives {
 public:
  /// Collective. `over` remains usable by its owner and outlives this object. Throws Unsupported if
  /// it is not the family's member "nccl".
  explicit Collectives(Communicator& over);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  [[nodiscard]] GpuMemory allocate(std::size_t bytes) const;
  /// The stream owned by this object.
  [[nodiscard]] Stream stream() const;

  /// Enqueues and returns. footprint() gives the sides; in place, `from` and `to` are the two parts
  /// of one block. An empty side is neither read nor written.
  void enqueue(const Exchange& exchange, const std::byte* from, std::byte* to, Stream stream);
  /// Merges the calls to enqueue() within `calls` into one NCCL group operation.
  void group(const std::function<void()>& calls);

  /// Returns when all work on `stream` is done. Throws LibraryError once NCCL reports that it
  /// cannot complete.
  void wait(Stream stream);
  /// GPU time of the work that `work` enqueues on `stream`, measured from the end of earlier work
  /// there; waits for it. The first operation starts as soon as it is enqueued, so the result
  /// includes the host's enqueue time unless the GPU is still busy.
  [[nodiscard]] Seconds time(Stream stream, const std::function<void()>& work);

  /// As expected_time() (choice.hpp). Throws Unsupported if the time is unknown. Collective.
  [[nodiscard]] std::optional<Seconds> estimate(const Exchange& exchange);

  /// NCCL's choice for the exchange, found by executing it once; waits for it. Nothing for a single
  /// rank or for no elements: NCCL then copies or does nothing. Throws Unsupported with the reason
  /// if NCCL did not load the profiler plugin. Collective.
  [[nodiscard]] std::optional<Choice> choice(const Exchange& exchange, const std::byte* from,
                                             std::byte* to, Stream stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlscale::backend::gpu_comm
