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

struct CUstream_st;  ///< cudaStream_t points to it

namespace dlscale::backend::gpu_comm {

using Stream = ::CUstream_st*;

/// Memory of the rank's GPU. Must go before the Collectives that gave it.
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

/// What NCCL offers, for measuring: over a link between the ranks of a communicator that is made
/// for it, on streams of the caller's. One thread at a time.
class Collectives {
 public:
  /// Collective. `over` stays in use by its owner and outlives this. Throws Unsupported if it is
  /// not the family's member "nccl".
  explicit Collectives(Communicator& over);
  ~Collectives();
  Collectives(const Collectives&) = delete;
  Collectives& operator=(const Collectives&) = delete;

  [[nodiscard]] GpuMemory allocate(std::size_t bytes) const;
  /// A stream of this object's own.
  [[nodiscard]] Stream stream() const;

  /// Enqueues and returns. The sides are as footprint() says; in place, `from` and `to` are the two
  /// parts of one block. Nothing is read or written of a side that is empty.
  void enqueue(const Exchange& exchange, const std::byte* from, std::byte* to, Stream stream);
  /// Calls to enqueue() within `calls` become one operation of NCCL, which works on them together.
  void group(const std::function<void()>& calls);

  /// Returns when all given to `stream` is done. Throws LibraryError once NCCL knows that it
  /// cannot.
  void wait(Stream stream);
  /// The GPU's time for what `work` enqueues on `stream`, which it waits for: from the end of what
  /// was there before. The first thing enqueued starts as soon as it is given, so the host's time
  /// for giving it is in the result unless the GPU is still busy.
  [[nodiscard]] Seconds time(Stream stream, const std::function<void()>& work);

  /// As expected_time() has it (choice.hpp). Throws Unsupported where it is not known. Collective.
  [[nodiscard]] std::optional<Seconds> estimate(const Exchange& exchange);

  /// What NCCL chose for the exchange, from doing it once, which it waits for. Nothing for a rank
  /// alone or no elements: NCCL then copies or does nothing. Throws Unsupported, saying why, if
  /// NCCL did not load the profiler plugin. Collective.
  [[nodiscard]] std::optional<Choice> choice(const Exchange& exchange, const std::byte* from,
                                             std::byte* to, Stream stream);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace dlscale::backend::gpu_comm
