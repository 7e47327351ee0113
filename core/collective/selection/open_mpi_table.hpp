#pragma once
#include <span>
#include <string_view>

#include "core/collective/algorithm.hpp"

namespace dlscale::collective {

/// Threshold of Open MPI's rule: from `ranks` ranks and `bytes` bytes on, it uses `algorithm` (its
/// own name). `bytes` is the message of all_reduce, reduce, broadcast and reduce_scatter; a rank's
/// contribution to an all_gather; what a rank sends to one other rank in an all_to_all.
struct OpenMpiRow {
  int ranks;
  double bytes;
  std::string_view algorithm;
};

/// The rows of a collective, ordered by ranks, then bytes; each number of ranks has a row of 0
/// bytes.
std::span<const OpenMpiRow> open_mpi_rows(Collective collective);

}  // namespace dlscale::collective
