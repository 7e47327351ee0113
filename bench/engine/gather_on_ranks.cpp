#include "bench/engine/gather_on_ranks.hpp"

#include <cstddef>
#include <span>

namespace dlscale::bench {

std::vector<std::vector<double>> gather_on_ranks(backend::Communicator& communicator,
                                                 const std::vector<double>& mine) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<double> flat(ranks * mine.size());
  communicator.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(flat)));
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto theirs = std::span(flat).subspan(rank * mine.size(), mine.size());
    all.emplace_back(theirs.begin(), theirs.end());
  }
  return all;
}

double sum_of_ranks(backend::Communicator& communicator, double mine) {
  communicator.all_reduce(std::span(&mine, 1), backend::Reduction::sum);
  return mine;
}

}  // namespace dlscale::bench
