#pragma once
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/memory/host/host_chase.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// A separately timed part of a chase.
struct ChasePiece {
  Seconds access;  ///< mean time of one access
  /// The system ran something else meanwhile, which evicted its cache lines.
  bool interrupted = false;
};

/// Times chases in pieces, which are short relative to a scheduler's time slice, and counts
/// interrupted ones.
class ChasePieces {
 public:
  static constexpr int accesses = 4096;  ///< per piece

  /// Restores evicted cache lines (HostChase::refresh), then times a piece.
  ChasePiece time(HostChase& chase);

  /// Text for the implementation, over all ranks: "the system interrupted 2 of all 72". Collective.
  [[nodiscard]] std::string count_text(backend::Communicator& communicator) const;

  /// A warning with advice if the system interrupted pieces on any rank. It has no numbers, so that
  /// a report of many chases shows it once. Collective.
  [[nodiscard]] std::vector<std::string> warnings(backend::Communicator& communicator) const;

 private:
  double pieces_ = 0;
  double interrupted_ = 0;  ///< number of interrupted pieces
};

}  // namespace dlscale::bench
