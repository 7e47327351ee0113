#pragma once
#include <memory>

#include "backend/compute/cuda/probes/copy_way.hpp"
#include "backend/compute/cuda/probes/stand.hpp"

namespace dlscale::backend::cuda {

/// What goes on beside a timed copy, on a stream of its own.
class Companion {
 public:
  virtual ~Companion() = default;
  /// Returns when it has begun or is about to; what is put on `stream` from now on does not start
  /// before it.
  virtual void begin(cudaStream_t stream) = 0;
  /// Whether it is still going on. To be asked between begin() and end().
  [[nodiscard]] virtual bool goes_on() const = 0;
  /// Waits for its end. Throws what went wrong in it.
  virtual void end() = 0;
  /// Goes on twice as long from the next begin().
  virtual void lengthen() = 0;
  /// Bytes that it moved to a wrong place, if it moves any.
  [[nodiscard]] virtual std::size_t wrong_bytes() const { return 0; }
  virtual void prepare() {}
};

/// A kernel on all multiprocessors.
std::unique_ptr<Companion> make_kernel_companion(const Stand& stand);
/// Copies as `spec` says, one after the other, issued by a thread of their own: those of pageable
/// memory keep the thread that issues them.
std::unique_ptr<Companion> make_copy_companion(const Stand& stand, const CopySpec& spec);

}  // namespace dlscale::backend::cuda
