#pragma once
#include <memory>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// A mark in the order of the context's stream: an event with a time.
std::unique_ptr<Mark> make_mark(const Context& context);

/// A courier with a stream of its own.
std::unique_ptr<Courier> make_courier(const Context& context);

}  // namespace dlscale::backend::cuda
