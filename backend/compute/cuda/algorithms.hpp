#pragma once
#include <vector>

#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// All algorithms for one pass of a convolution, whether they keep the precision or not:
///   - each plan that cuDNN's heuristics recommend,
///   - each other engine that supports the graph, with its default settings,
///   - each algorithm of the legacy API,
///   - our own.
/// Their create() throws Unsupported with the reason where an algorithm is not offered, or does not
/// keep the precision. It makes the other passes as make_convolution() does. Empty for layers that
/// are not convolutions. `context` must outlive the list.
std::vector<Algorithm> algorithms(const Context& context, const OperationSpec& spec, Pass pass);

}  // namespace dlscale::backend::cuda
