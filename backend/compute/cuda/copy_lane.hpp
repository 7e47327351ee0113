#pragma once
#include <cstddef>

#include "backend/compute/cuda/runtime/context.hpp"
#include "backend/compute/cuda/runtime/handles.hpp"

namespace dlscale::backend::cuda {

/// Copies to the device beside what it computes, on a stream of their own. What was copied is used
/// after join(); the next copy waits for the first use, so that one area may be filled again and
/// again.
class CopyLane {
 public:
  explicit CopyLane(const Context& context);
  void copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes);
  /// What is given from here on begins after the copies.
  void join();
  /// To be called after each copy between tensors: the first after join() is the use.
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
