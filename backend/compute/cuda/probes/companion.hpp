#pragma once
#include <cstddef>
#include <functional>

#include "core/base/units.hpp"

struct CUstream_st;  ///< cudaStream_t points to it

namespace dlscale::backend::cuda {

/// What goes on beside a timed copy, on a stream of its own.
class Companion {
 public:
  virtual ~Companion() = default;
  /// Returns when it has begun or is about to; what is put on `stream` from now on does not start
  /// before it.
  virtual void begin(::CUstream_st* stream) = 0;
  /// Whether it is still going on. To be asked between begin() and end().
  [[nodiscard]] virtual bool goes_on() const = 0;
  /// Waits for its end. Throws what went wrong in it.
  virtual void end() = 0;
  /// How long it went on, by the device. To be asked after end().
  [[nodiscard]] virtual Seconds lasted() const = 0;
  /// Goes on twice as long from the next begin().
  virtual void lengthen() = 0;
  /// Bytes that it moved to a wrong place, if it moves any.
  [[nodiscard]] virtual std::size_t wrong_bytes() const { return 0; }
  virtual void prepare() {}
};

/// The time of a copy, which is made and timed on `stream`, beside a companion that goes on from
/// before its start to after its end: one that was over too soon is made twice as long, and the
/// copy made again. Throws Unsupported once the companion lasts a second and ten times as long as
/// the copy and is over all the same, for then one waits for the other; Interrupted after a signal.
Seconds time_beside(Companion& companion, ::CUstream_st* stream,
                    const std::function<Seconds()>& copy);

}  // namespace dlscale::backend::cuda
