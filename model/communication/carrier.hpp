#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Open MPI's all-reduce algorithms where they differ from those of the family
/// [ompi/mca/coll/base/coll_base_allreduce.c, commit 07a69c3, for commutative operations].

/// The algorithm Open MPI runs where its rules name `named` for m bytes of `element` each: it
/// replaces a ring of fewer elements than ranks by recursive doubling. nullptr as `named`.
const collective::Algorithm* open_mpi_carries(const collective::Algorithm* named, int ranks,
                                              Bytes m, Bytes element);

/// Whether it is Rabenseifner's all-reduce on a number of ranks that is not a power of 2. Open
/// MPI's pairs then exchange halves of the message, add, and send one half on; those of the family
/// send the whole message one way. That is one message more, as many bytes in turn, and half a
/// message less to add.
bool open_mpi_halves(const collective::Algorithm& algorithm, int ranks);

/// The schedule by which Open MPI executes an algorithm of the family.
collective::Schedule open_mpi_schedule(const collective::Algorithm& algorithm,
                                       const collective::Settings& settings);

/// Counts of a schedule, by round, from the messages in it:
///   messages   Σ of the most messages that one node sends or receives
///   on_cores   Σ of the same, times max(1, nodes that send or receive / cores)
///   both_ways  Σ of the most bytes that one node exchanges, over the bytes of the whole message;
///              two nodes exchange the lesser of what each sends the other
/// A node of several ports takes the largest instead of the sum over its partners, as in
/// core/collective/schedule.hpp.
struct ScheduleCounts {
  double messages = 0;
  double on_cores = 0;
  double both_ways = 0;
};

/// `cores`: cores that all nodes share; 0: each node has its own.
ScheduleCounts count(const collective::Schedule& schedule, int cores);

/// Factors of α_i, β_i, α_e, β_e and χ_e (LinkTerms).
using LinkMultiples = std::array<double, 5>;

/// Factors of the link parameters in a closed form:
///   T(m) = A_i α_i + B_i m β_i + A_e α_e + B_e m β_e + X_e m χ_e + C m γ
/// with i for links within a node and e for links between nodes. β_e is that of a node alone on its
/// link; B_e includes the sharing where several of its ranks send at once (Outflow). A closed form
/// of one level puts all messages on the slowest link they cross: within a node if there is one
/// node. Where the closed form is only a bound (Algorithm::inexact), the factors are those of the
/// simulated schedule. χ_e is the extra cost of a byte between nodes while another byte comes back
/// between the same two ranks; X_e counts such bytes in the simulated schedule (ScheduleCounts).
/// Where the nodes are parts of one machine, A_e includes messages of ranks that share its cores.
/// The most that one rank sends or receives in a round counts once for each rank on a core in that
/// round, at least once. [D, derived: a message costs the core's time, and the ranks of a core take
/// turns] Wrong where links and cores work at the same time. Both apply to algorithms of one level
/// only.
struct LinkTerms {
  double alpha_intra = 0;  ///< A_i
  double beta_intra = 0;   ///< B_i
  double alpha_inter = 0;  ///< A_e
  double beta_inter = 0;   ///< B_e
  double both_ways = 0;    ///< X_e; 0 unless Carrier::two_way
  double gamma = 0;        ///< C
  double transfer = 1;     ///< mean bytes of a message on its way, over m: B / A of one rank
  /// The factors of α_i, β_i, α_e, β_e and χ_e for m bytes.
  [[nodiscard]] LinkMultiples at(Bytes m) const {
    return {alpha_intra, beta_intra * m.si(), alpha_inter, beta_inter * m.si(), both_ways * m.si()};
  }
};

/// The chooser of the algorithm of messages: the caller, the rules of a library, or the fit, which
/// takes the one whose closed form fits best.
enum class ChosenBy { caller, open_mpi, mpich, fit };
std::string_view to_string(ChosenBy chosen_by);
/// Throws ConfigError for another word.
ChosenBy parse_chosen_by(std::string_view word);

/// Messages from one rank to another, outside of collectives: T = α + β m.
inline constexpr std::string_view point_to_point = "point_to_point";

/// A collective whose times do not change with the number of ranks: T = α + β m on any. It is not
/// an algorithm but the baseline that closed forms have to beat.
inline constexpr std::string_view no_change_with_ranks = "no_change_with_ranks";

/// The algorithm by which messages of a collective travel.
struct Carrier {
  std::string collective;
  ChosenBy chosen_by = ChosenBy::fit;
  /// An algorithm of that collective, point_to_point or no_change_with_ranks. Empty where a
  /// library's rules choose for each message, and where one layout alone was measured, which cannot
  /// tell them apart.
  std::string algorithm;
  int segments = 1;
  /// Cores of the machine that all nodes share, as in scripts/cluster; 0: each node has its own.
  int cores = 0;
  /// Whether LinkTerms::both_ways is a parameter of its own; else it is part of β.
  bool two_way = false;
  /// "ring", "what Open MPI chooses".
  [[nodiscard]] std::string name() const;
  /// The algorithm of m bytes on that layout; empty where it is unknown.
  [[nodiscard]] std::string algorithm_for(const Placement& layout, Bytes m) const;
  /// Empty where the algorithm is unknown, cannot be set up on that layout, or needs an unknown
  /// number of segments. Also for parameter servers, whose closed forms do not cover ranks.
  [[nodiscard]] std::optional<LinkTerms> terms(const Placement& layout, Bytes m) const;
};

/// The carriers whose closed forms need only ranks and links, in the order of the family: without
/// segments, servers or switches, which results do not record. `collective` is one of
/// core/collective.
std::vector<Carrier> plain_carriers(const std::string& collective, bool two_levels);

}  // namespace dlscale::model
