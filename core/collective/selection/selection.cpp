#include "core/collective/selection/selection.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/rounds.hpp"
#include "core/collective/selection/open_mpi_table.hpp"

namespace dlscale::collective {
namespace {

constexpr double most_segments = 1 << 30;

Settings with(Settings settings, int segments) {
  settings.segments = segments;
  return settings;
}

/// Names of gloo's files; "pairwise" is our name of its all-to-all.
std::string_view gloo_name(Collective collective) {
  switch (collective) {
    case Collective::all_reduce:
    case Collective::all_gather:
      return "ring";
    case Collective::broadcast:
      return "binomial";
    case Collective::all_to_all:
      return "pairwise";
    case Collective::reduce:
      return "ring_gather";
    case Collective::reduce_scatter:
      return "halving_doubling";
  }
  fail_expectation("a collective");
}

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
/// pairwise exchange in a model of rounds.
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

/// Open MPI's name of an algorithm, if it differs from the family's.
struct OtherName {
  Collective collective;
  std::string_view theirs;
  std::string_view ours;
};

/// `linear` and `linear_sync` post all messages of an all-to-all at once, and take as long as
/// pairwise exchange in a model of rounds; `two_proc` is one exchange of 2 ranks.
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

Seconds chain_time(const Link& link, int p, Bytes m, int segments) {
  return chain_rounds(p, segments) * (link.alpha + m / segments * (link.beta + link.gamma));
}

}  // namespace

/// Closed forms in k segments are sums of terms in 1, k and 1/k, hence convex: T is minimal at the
/// first k after which it does not decrease.
int best_segments(const Algorithm& algorithm, const Links& links, const Settings& settings, Bytes m,
                  Bytes element) {
  EXPECT(element.si() > 0 && element <= m);
  if (!algorithm.traits.segments) return 1;
  const auto time = [&](int k) { return algorithm.cost(links, with(settings, k), m); };
  int first = 1;
  int last = static_cast<int>(std::min(most_segments, std::floor(m / element)));
  while (first < last) {
    const int middle = first + (last - first) / 2;
    if (time(middle) <= time(middle + 1)) {
      last = middle;
    } else {
      first = middle + 1;
    }
  }
  return first;
}

Fastest fastest(std::span<const Algorithm* const> among, const Links& links,
                const Settings& settings, Bytes m, Bytes element) {
  Fastest best;
  for (const Algorithm* algorithm : among) {
    if (!obstacle(*algorithm, with(settings, 1)).empty()) continue;
    const int k = best_segments(*algorithm, links, settings, m, element);
    const Seconds time = algorithm->cost(links, with(settings, k), m);
    if (best.algorithm == nullptr || time < best.time) best = {algorithm, k, time};
  }
  return best;
}

Selection gloo(Collective collective, int p) {
  EXPECT(p >= 1);
  const std::string_view name = gloo_name(collective);
  return {name, find(collective, name)};
}

Selection horovod_hierarchical(int p, int ranks_on_node) {
  EXPECT(p >= 1 && ranks_on_node >= 1 && ranks_on_node <= p);
  const std::string_view name = p > ranks_on_node ? "hierarchical" : "ring";
  return {name, find(Collective::all_reduce, name)};
}

Selection mpich(Collective collective, int p, Bytes m, Bytes element) {
  EXPECT(p >= 1 && m.si() >= 0 && element.si() > 0);
  const std::string_view name = choose(collective, p, m, element);
  return {name, find(collective, name == "scattered" ? "pairwise" : name)};
}

Selection open_mpi_fixed(Collective collective, int p, Bytes m) {
  EXPECT(p >= 1 && m.si() >= 0);
  const double bytes = bytes_of(collective, p, m);
  std::string_view name;
  for (const OpenMpiRow& row : open_mpi_rows(collective)) {
    if (row.ranks <= p && row.bytes <= bytes) name = row.algorithm;  // the last matching row
  }
  return {name, find(collective, our_name(collective, name))};
}

Bytes optimal_chunk(const Link& link, int p, Bytes m, Bytes element) {
  EXPECT(p >= 1 && element.si() > 0 && element <= m);
  const auto [alpha, beta, gamma] = link;
  if (p <= 2) return m;
  const double wire = (beta + gamma).si();
  if (wire == 0) return m;  // only start-up times: as few segments as possible
  const Bytes best(std::sqrt(m.si() * alpha.si() / ((p - 2) * wire)));
  return std::clamp(best, element, m);
}

Seconds optimal_chain_time(const Link& link, int p, Bytes m) {
  EXPECT(p >= 2);
  const auto [alpha, beta, gamma] = link;
  const double root = std::sqrt((p - 2) * alpha.si()) + std::sqrt((m * (beta + gamma)).si());
  return Seconds(root * root);
}

int optimal_segments(const Link& link, int p, Bytes m, Bytes element) {
  const double ideal = m / optimal_chunk(link, p, m, element);
  const double most = std::min(most_segments, std::floor(m / element));
  const int below = static_cast<int>(std::clamp(std::floor(ideal), 1.0, most));
  const int above = static_cast<int>(std::clamp(std::ceil(ideal), 1.0, most));
  return chain_time(link, p, m, above) < chain_time(link, p, m, below) ? above : below;
}

}  // namespace dlscale::collective
