#pragma once
#include <cstddef>

#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"

namespace dlscale::backend::cuda {

/// Copies to the device on a stream of their own, concurrently with its work. Copied data are used
/// after join(); the next copy waits for the first use, so that one buffer can be refilled
/// repeatedly.
class CopyLane {
 public:
  explicit CopyLane(const Context& context);
  void copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes);
  /// Makes work enqueued from now on wait for the copies.
  void join();
  /// Call after each copy between tensors: the first one after join() is the use.
  void note_use();

 private:
  enum class State { idle, joined };

  const Context* context_;
  Stream stream_;
  Event copied_;
  Event used_;
  State state_ = State::idle;
};

}  // namespace dlscale::backend::cuda
