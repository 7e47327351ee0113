#pragma once
#include <vector>

#include "backend/compute/cuda/runtime/context.hpp"

namespace dlscale::backend::cuda {

/// All ways to run one pass of a convolution, whether they keep the precision or not: each plan
/// that the heuristics of cuDNN recommend, each other engine that supports the graph with its
/// default settings, each algorithm of the legacy API, and those of our own. Their create() throws
/// Unsupported with the reason where a way is not offered, or does not keep the precision. The
/// other passes of what they create are those of make_convolution(). Nothing for layers that are no
/// convolutions. `context` must outlive the list.
std::vector<Algorithm> algorithms(const Context& context, const OperationSpec& spec, Pass pass);

}  // namespace dlscale::backend::cuda
