#pragma once
#include <span>
#include <string_view>

#include "core/collective/algorithm.hpp"

namespace dlscale::collective {

/// From so many ranks and bytes on, that algorithm, by Open MPI's name. What the bytes are:
/// the message of all_reduce, reduce, broadcast and reduce_scatter; what a rank contributes to
/// an all_gather; what a rank sends to one other in an all_to_all.
struct OpenMpiRow {
  int ranks;
  double bytes;
  std::string_view algorithm;
};

/// The rows of a collective, in order of ranks, then bytes; with 0 bytes for each number of ranks.
std::span<const OpenMpiRow> open_mpi_rows(Collective collective);

}  // namespace dlscale::collective
