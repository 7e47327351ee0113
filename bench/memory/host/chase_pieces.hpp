#pragma once
#include <string>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "bench/memory/host/host_chase.hpp"
#include "core/base/units.hpp"

namespace dlscale::bench {

/// A part of a chase that was timed on its own.
struct ChasePiece {
  Seconds access;            ///< mean time of one
  bool interrupted = false;  ///< the system ran something else meanwhile, which took its caches
};

/// Times chases in pieces, which are short beside the time that a system gives a thread at once,
/// and counts those that it interrupted.
class ChasePieces {
 public:
  static constexpr int accesses = 4096;  ///< of a piece

  /// Gives back to the caches what others have driven out (HostChase::refresh), then times a piece.
  ChasePiece time(HostChase& chase);

  /// "the system interrupted 2 of all 72", of all ranks, for the implementation. Collective.
  [[nodiscard]] std::string count_text(backend::Communicator& communicator) const;

  /// A warning with advice if the system interrupted pieces of any rank. It has no numbers, so that
  /// a report of many chases says it once. Collective.
  [[nodiscard]] std::vector<std::string> warnings(backend::Communicator& communicator) const;

 private:
  double pieces_ = 0;
  double interrupted_ = 0;  ///< of them
};

}  // namespace dlscale::bench
