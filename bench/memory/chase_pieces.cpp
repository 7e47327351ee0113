#include "bench/memory/chase_pieces.hpp"

#include <fmt/format.h>

#include "backend/host/preemptions.hpp"
#include "bench/gather.hpp"

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

std::vector<std::string> ChasePieces::warnings(backend::Communicator& communicator) const {
  const double interrupted = sum_of_ranks(communicator, interrupted_);
  const double pieces = sum_of_ranks(communicator, pieces_);
  if (interrupted == 0) return {};
  return {fmt::format(
      "the system interrupted {} of {} pieces of the chases, which count only where no others "
      "were left; what it ran meanwhile took a part of the caches. Stop other programs.",
      interrupted, pieces)};
}

}  // namespace dlscale::bench
