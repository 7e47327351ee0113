#pragma once
#include <vector>

#include "backend/comm/communicator.hpp"

namespace dlscale::bench {

/// Collective: the values of every rank, each with equally many.
std::vector<std::vector<double>> gather_on_ranks(backend::Communicator& communicator,
                                                 const std::vector<double>& mine);

/// Collective: the sum over all ranks.
double sum_of_ranks(backend::Communicator& communicator, double mine);

}  // namespace dlscale::bench
