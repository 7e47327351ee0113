#include <array>

#include "core/base/error.hpp"
#include "core/collective/selection/open_mpi_table.hpp"
#include "core/collective/selection/selection.hpp"

namespace dlscale::collective {
namespace {

/// Open MPI's name of an algorithm, if it differs from the family's.
struct OtherName {
  Collective collective;
  std::string_view theirs;
  std::string_view ours;
};

/// `linear` and `linear_sync` post all messages of an all-to-all at once, and take as long as
/// pairwise exchange in a model of rounds [MODEL 3.17]; `two_proc` is one exchange of 2 ranks.
constexpr std::array other_names{
    OtherName{Collective::reduce, "pipeline", "chain"},
    OtherName{Collective::reduce, "chain", ""},  // four concurrent chains
    OtherName{Collective::broadcast, "pipeline", "chain"},
    OtherName{Collective::broadcast, "chain", ""},
    OtherName{Collective::broadcast, "basic_linear", "linear"},
    OtherName{Collective::broadcast, "scatter_allgather", "scatter_doubling"},
    OtherName{Collective::all_gather, "two_proc", "ring"},
    OtherName{Collective::all_to_all, "two_proc", "pairwise"},
    OtherName{Collective::all_to_all, "linear", "pairwise"},
    OtherName{Collective::all_to_all, "linear_sync", "pairwise"},
    OtherName{Collective::all_to_all, "modified_bruck", "bruck"},
};

std::string_view our_name(Collective collective, std::string_view theirs) {
  for (const OtherName& other : other_names) {
    if (other.collective == collective && other.theirs == theirs) return other.ours;
  }
  return theirs;
}

/// The number of bytes that its rules use.
double bytes_of(Collective collective, int p, Bytes m) {
  const bool per_rank =
      collective == Collective::all_gather || collective == Collective::all_to_all;
  return per_rank ? m.si() / p : m.si();
}

}  // namespace

Selection open_mpi_fixed(Collective collective, int p, Bytes m) {
  EXPECT(p >= 1 && m.si() >= 0);
  const double bytes = bytes_of(collective, p, m);
  std::string_view name;
  for (const OpenMpiRow& row : open_mpi_rows(collective)) {
    if (row.ranks <= p && row.bytes <= bytes) name = row.algorithm;  // the last matching row
  }
  return {name, find(collective, our_name(collective, name))};
}

}  // namespace dlscale::collective
