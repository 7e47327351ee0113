#include "bench/memory/host/chase_pieces.hpp"

#include <fmt/format.h>

#include "backend/host/core_clock.hpp"
#include "bench/engine/gather.hpp"

namespace dlscale::bench {

ChasePiece ChasePieces::time(HostChase& chase) {
  const auto before = backend::preemptions();
  chase.refresh();
  ChasePiece piece{.access = chase.run(accesses)};
  piece.interrupted = backend::preemptions() != before;
  ++pieces_;
  if (piece.interrupted) ++interrupted_;
  return piece;
}

std::string ChasePieces::count_text(backend::Communicator& communicator) const {
  const double interrupted = sum_of_ranks(communicator, interrupted_);
  const double pieces = sum_of_ranks(communicator, pieces_);
  return fmt::format("the system interrupted {:.0f} of all {:.0f}", interrupted, pieces);
}

std::vector<std::string> ChasePieces::warnings(backend::Communicator& communicator) const {
  if (sum_of_ranks(communicator, interrupted_) == 0) return {};
  return {
      "the system interrupted pieces of the chases (the implementation says how many), which count "
      "only where no others were left; what it ran meanwhile took a part of the caches. Stop other "
      "programs."};
}

}  // namespace dlscale::bench
