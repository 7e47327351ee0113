#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/topology/single_level_rounds.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The size of a gradient's element, below which no message is cut.
inline constexpr Bytes gradient_element(4);

/// One algorithm of core/collective, or two in sequence, such as a reduce and a broadcast.
using AlgorithmSequence = std::vector<const collective::Algorithm*>;

/// The sequence that a word names for a collective: one of its algorithms, or chain_of_ranks for
/// an all-reduce. Empty if it names none.
AlgorithmSequence algorithms_named(collective::Collective collective, std::string_view name);

/// The word for an all-reduce of a reduce and a broadcast along a chain of ranks.
inline constexpr std::string_view chain_of_ranks = "chain";

/// Open MPI's rule, for which an algorithm in segments counts as of a single one.
inline constexpr std::string_view open_mpi_rule = "open_mpi";

/// The rules of libraries that choose an algorithm by the size of a message or by the ranks:
/// "open_mpi", "mpich" and "gloo" of any collective, "horovod_hierarchical" of all-reduces.
std::vector<std::string_view> choosing_rules(collective::Collective collective);

/// The algorithms that such a rule takes for m bytes ≥ 1. Throws ConfigError, which begins with
/// `asked`, for an algorithm that core/collective lacks.
AlgorithmSequence chosen_by_rule(std::string_view rule, collective::Collective collective,
                                 const Placement& placement, Bytes m, std::string_view asked);

/// The fit to messages of a collective that an algorithm carried out (bench comm --algorithm NAME),
/// which covers the placement; nullptr if there is none.
const AlgorithmFit* measured_algorithm(const Machine& machine, const Placement& placement,
                                       collective::Collective collective, std::string_view name);

/// "all-reduce by ring cannot be predicted here: WHY. INSTEAD"
std::string refusal_of(std::string_view asked, std::string_view why, std::string_view instead);

/// The time of a message by an algorithm, and what it rests on.
struct AlgorithmAnswer {
  Estimate<Seconds> time;
  std::string by;                  ///< "ring"
  std::string in;                  ///< " in 12 segments of 1 MiB", if segmented
  std::vector<std::string> links;  ///< sources of α and β, as LinkEstimate::from
  bool nominal = false;            ///< whether some link is by its data sheet, or stated
};

/// Times of any collective by given algorithms, over estimate_link() within a node and between
/// nodes, with γ of the machine, 0 if unknown:
///   on one node: the closed form;
///   two levels over several nodes: the closed form, with the β between nodes shared by as many
///     ranks of a node as it lets send at once (Outflow);
///   one level over several nodes: round by round, by the ranks that leave the node in each
///     (SingleLevelRounds). Where that has no rounds of an algorithm, its closed form over the
///     slower link, shared likewise: the ring of "scatter_ring", "bidirectional_ring".
/// Segmented algorithms use the fastest number of segments over the slower link; a chain uses
/// optimal_chunk(). Wrong where two messages of a round share a link within a node that cannot
/// carry both at its full rate.
class AlgorithmTimes {
 public:
  /// Requires ≥ 2 ranks. `asked` names the question in refusals: "all-reduce by ring". `machine`
  /// must outlive this.
  AlgorithmTimes(const Machine& machine, const Placement& placement, Schedule schedule,
                 std::string asked);
  /// Why they cannot be set up on the placement: "on 6 ranks it needs …"; empty if they can.
  [[nodiscard]] std::string obstacle(const AlgorithmSequence& algorithms) const;
  enum class Segments { one, fastest };
  /// The time of m bytes ≥ 1. Throws ConfigError where the machine lacks a link that is needed.
  [[nodiscard]] AlgorithmAnswer answer(const AlgorithmSequence& algorithms, Bytes m,
                                       Segments segments = Segments::fastest) const;
  /// The value of that time alone.
  [[nodiscard]] Seconds time(const AlgorithmSequence& algorithms, Bytes m) const;
  /// An all-reduce by switches that add (in_network_all_reduce()). Requires several nodes.
  [[nodiscard]] AlgorithmAnswer by_switches(Bytes m) const;

 private:
  /// The links that an algorithm crosses, null where it crosses none; between nodes, for a single
  /// message on the way out.
  struct Crossed {
    std::shared_ptr<const LinkEstimate> inter;
    std::shared_ptr<const LinkEstimate> intra;
  };
  /// A message by one algorithm, with its number of segments.
  struct Part {
    const collective::Algorithm* algorithm = nullptr;
    int segments = 1;
    Crossed crossed;
  };
  using Start = Seconds Estimate<Seconds>::*;
  using Slope = SecondsPerByte Estimate<SecondsPerByte>::*;

  [[nodiscard]] std::shared_ptr<const LinkEstimate> known(LinkKind kind, Bytes transfer,
                                                          Bytes m) const;
  [[nodiscard]] std::shared_ptr<const LinkEstimate> link(LinkKind kind, Bytes transfer,
                                                         Bytes m) const;
  [[nodiscard]] collective::Settings settings(int segments) const;
  [[nodiscard]] Estimate<SecondsPerByte> adding() const;
  [[nodiscard]] const SingleLevelRounds& rounds(const collective::Algorithm& algorithm) const;
  [[nodiscard]] int sharers(const collective::Algorithm& algorithm) const;
  [[nodiscard]] Crossed links(const collective::Algorithm& algorithm, Bytes transfer,
                              Bytes m) const;
  [[nodiscard]] collective::Links usual_links(const collective::Algorithm& algorithm,
                                              Bytes m) const;
  [[nodiscard]] int best_segments(const collective::Algorithm& algorithm, Bytes m) const;
  [[nodiscard]] Seconds cost(const collective::Algorithm& algorithm, const collective::Links& links,
                             int segments, Bytes m) const;
  [[nodiscard]] Part part(const collective::Algorithm& algorithm, Bytes m, Segments segments) const;
  [[nodiscard]] Seconds time_of(const Part& part, Bytes m, Start start, Slope per_byte) const;
  void add(const Part& part, Bytes m, AlgorithmAnswer& answer) const;
  static void add_links(const Crossed& crossed, AlgorithmAnswer& answer);

  const Machine* machine_;
  Placement placement_;
  Schedule schedule_;
  std::string asked_;
  mutable std::map<const collective::Algorithm*, SingleLevelRounds>
      rounds_;  ///< computed at first use
  /// Links by data sheets, or stated, which are the same for all sizes; looked up at first use.
  mutable std::map<LinkKind, std::shared_ptr<const LinkEstimate>> nominal_;
};

}  // namespace dlscale::model
