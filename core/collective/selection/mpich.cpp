#include "core/base/error.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/selection/selection.hpp"

namespace dlscale::collective {
namespace {

/// The default values of MPIR_CVAR_<NAME>, in bytes and ranks.
constexpr double allreduce_short_msg_size = 2048;
constexpr double reduce_short_msg_size = 2048;
constexpr int bcast_min_procs = 8;
constexpr double bcast_short_msg_size = 12288;
constexpr double bcast_long_msg_size = 524288;
constexpr double allgather_short_msg_size = 81920;
constexpr double allgather_long_msg_size = 524288;
constexpr double redscat_commutative_long_msg_size = 524288;
constexpr double alltoall_short_msg_size = 256;
constexpr double alltoall_medium_msg_size = 32768;
constexpr int alltoall_bruck_min_procs = 8;  // a literal in its code

bool is_power_of_2(int p) {
  return p == largest_power_of_2(p);
}

/// Reduce-scatter cannot give each of p' ranks an element of a shorter vector.
bool too_short(int p, Bytes m, Bytes element) {
  return m / element < largest_power_of_2(p);
}

std::string_view broadcast(int p, double bytes) {
  if (bytes < bcast_short_msg_size || p < bcast_min_procs) return "binomial";
  return bytes < bcast_long_msg_size && is_power_of_2(p) ? "scatter_doubling" : "scatter_ring";
}

std::string_view all_gather(int p, double bytes) {
  if (bytes < allgather_long_msg_size && is_power_of_2(p)) return "recursive_doubling";
  return bytes < allgather_short_msg_size ? "bruck" : "ring";
}

/// For medium sizes it is the window of 32 messages called scattered, which takes as long as
/// pairwise exchange in a model of rounds [MODEL 3.17].
std::string_view all_to_all(int p, double bytes_per_rank) {
  if (bytes_per_rank <= alltoall_short_msg_size && p >= alltoall_bruck_min_procs) return "bruck";
  return bytes_per_rank <= alltoall_medium_msg_size ? "scattered" : "pairwise";
}

std::string_view choose(Collective collective, int p, Bytes m, Bytes element) {
  const double bytes = m.si();
  switch (collective) {
    case Collective::all_reduce:
      return bytes <= allreduce_short_msg_size || too_short(p, m, element) ? "recursive_doubling"
                                                                           : "rabenseifner";
    case Collective::reduce:
      return bytes <= reduce_short_msg_size || too_short(p, m, element) ? "binomial"
                                                                        : "rabenseifner";
    case Collective::broadcast:
      return broadcast(p, bytes);
    case Collective::all_gather:
      return all_gather(p, bytes);
    case Collective::reduce_scatter:
      return bytes < redscat_commutative_long_msg_size ? "recursive_halving" : "pairwise";
    case Collective::all_to_all:
      return all_to_all(p, bytes / p);
  }
  fail_expectation("a collective");
}

}  // namespace

Selection mpich(Collective collective, int p, Bytes m, Bytes element) {
  EXPECT(p >= 1 && m.si() >= 0 && element.si() > 0);
  const std::string_view name = choose(collective, p, m, element);
  return {name, find(collective, name == "scattered" ? "pairwise" : name)};
}

}  // namespace dlscale::collective
