#pragma once
#include <cstddef>
#include <functional>

#include "core/base/units.hpp"

struct CUstream_st;  ///< cudaStream_t points to it

namespace dlscale::backend::cuda {

/// Concurrent work beside a timed copy, on a stream of its own.
class Companion {
 public:
  virtual ~Companion() = default;
  /// Returns when the work has begun or is about to. What is enqueued on `stream` from now on does
  /// not start before it.
  virtual void begin(::CUstream_st* stream) = 0;
  /// Whether the work is still running. Call between begin() and end().
  [[nodiscard]] virtual bool goes_on() const = 0;
  /// Waits for the end of the work. Throws its errors.
  virtual void end() = 0;
  /// Duration on the device's clock. Call after end().
  [[nodiscard]] virtual Seconds lasted() const = 0;
  /// Doubles the duration from the next begin() on.
  virtual void lengthen() = 0;
  /// Number of bytes copied wrongly, if the work copies any.
  [[nodiscard]] virtual std::size_t wrong_bytes() const { return 0; }
  virtual void prepare() {}
};

/// Time of a copy that `copy` makes and times on `stream` while a companion runs from before its
/// start to after its end. A companion that ends too early is made twice as long, and the copy
/// repeated. Throws Unsupported once the companion lasts a second and ten times as long as the copy
/// but still ends first: one then waits for the other. Throws Interrupted after a signal.
Seconds time_beside(Companion& companion, ::CUstream_st* stream,
                    const std::function<Seconds()>& copy);

}  // namespace dlscale::backend::cuda
