#pragma once
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Of α_i, β_i, α_e, β_e and χ_e (LinkTerms).
using LinkMultiples = std::array<double, 5>;

/// What multiplies the parameters of links in a closed form:
///   T(m) = A_i α_i + B_i m β_i + A_e α_e + B_e m β_e + X_e m χ_e + C m γ
/// with i for links within a node and e for those between nodes, whose β_e is that of a node alone
/// on its link: where several ranks of it send at once (Outflow), B_e has them. A closed form of
/// one level has all its messages on the slowest link they cross: within a node if there is one
/// node. Of an algorithm whose closed form is but a bound (Algorithm::inexact) the multiples are
/// those of its simulated schedule.
/// χ_e is what a byte between nodes costs more that travels while another one comes the other way
/// between the same two ranks; X_e of them, by the simulated schedule, are such (ScheduleCounts).
/// Where the nodes are parts of one machine, A_e has what messages cost ranks that share its cores:
/// the most that one rank sends or receives in a round counts as often as there are ranks to a core
/// in that round, if more than one. [D, derived: what a message costs is the core's time, and the
/// ranks of a core take turns] Wrong where links and cores work at the same time; both are of
/// algorithms of one level alone.
struct LinkTerms {
  double alpha_intra = 0;  ///< A_i
  double beta_intra = 0;   ///< B_i
  double alpha_inter = 0;  ///< A_e
  double beta_inter = 0;   ///< B_e
  double both_ways = 0;    ///< X_e; 0 unless Carrier::two_way
  double gamma = 0;        ///< C
  double transfer = 1;     ///< bytes of a message on its way, on average, over m: B / A of one rank
  /// What multiplies α_i, β_i, α_e, β_e and χ_e for m bytes.
  [[nodiscard]] LinkMultiples at(Bytes m) const {
    return {alpha_intra, beta_intra * m.si(), alpha_inter, beta_inter * m.si(), both_ways * m.si()};
  }
};

/// Who says by which algorithm messages travel: who asked for it, the rules of a library, or
/// nobody, so that it is the one whose closed form fits best.
enum class ChosenBy { caller, open_mpi, mpich, fit };
std::string_view to_string(ChosenBy chosen_by);
/// Throws ConfigError for another word.
ChosenBy parse_chosen_by(std::string_view word);

/// Of messages from one rank to another, which no collective carries: T = α + β m.
inline constexpr std::string_view point_to_point = "point_to_point";

/// Of a collective whose times do not change with the number of ranks, whatever carries it out:
/// T = α + β m on any. No algorithm: what the closed forms have to beat.
inline constexpr std::string_view no_change_with_ranks = "no_change_with_ranks";

/// By which algorithm messages of a collective travel.
struct Carrier {
  std::string collective;
  ChosenBy chosen_by = ChosenBy::fit;
  /// Of the family of that collective, point_to_point or no_change_with_ranks; empty where a
  /// library's rules choose, message by message, and where all were measured on one layout, which
  /// tells none from another.
  std::string algorithm;
  int segments = 1;
  /// Of the machine whose parts all nodes are, as those of scripts/cluster; 0: each has its own.
  int cores = 0;
  /// Whether LinkTerms::both_ways counts by itself; else it is part of β.
  bool two_way = false;
  /// "ring", "what Open MPI chooses".
  [[nodiscard]] std::string name() const;
  /// By which m bytes travel on so many ranks; empty where that is not known.
  [[nodiscard]] std::string algorithm_for(const Placement& layout, Bytes m) const;
  /// Nothing where the algorithm is not known, cannot be set up on that layout, is one whose
  /// segments nobody tells, or has parameter servers, of which no closed form is of those on ranks.
  [[nodiscard]] std::optional<LinkTerms> terms(const Placement& layout, Bytes m) const;
};

/// Those whose closed forms say all with the ranks and the links, in the order of the family:
/// without segments, servers or switches of which results tell nothing. `collective` is one of
/// core/collective.
std::vector<Carrier> plain_carriers(const std::string& collective, bool two_levels);

}  // namespace dlscale::model
