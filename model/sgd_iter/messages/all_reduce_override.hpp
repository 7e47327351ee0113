#pragma once
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/collective/algorithm.hpp"
#include "core/collective/selection/selection.hpp"
#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/topology/single_level_rounds.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The words of predict --all-reduce that AllReduceOverride accepts: the all-reduces of
/// core/collective that need only ranks, and "chain" (a reduce and a broadcast along a chain). Also
/// the rules that choose one by the size of a message or the ranks: "open_mpi", "mpich", "gloo",
/// "horovod_hierarchical", "best" (that of least time).
std::vector<std::string> all_reduce_overrides();
/// The word for predict --sharp: switches that add (topology/in_network.hpp). On one node, which
/// has no switches, it has no effect.
inline constexpr std::string_view adding_switches = "sharp";
/// Throws ConfigError for any other word.
void check_all_reduce_override(std::string_view name);

/// All-reduces by a given algorithm, whatever a library was measured to do. If its execution was
/// measured and fitted (bench comm --algorithm NAME), that fit and its closed form.
/// Else estimate_link() within a node and between nodes, with γ of the machine, 0 if unknown:
///   on one node: its closed form;
///   two levels over several nodes: its closed form, with the β between nodes shared by as many
///     ranks of a node as it lets send at once (Outflow);
///   one level over several nodes: round by round, by the ranks that leave the node in each
///     (SingleLevelRounds);
///   adding_switches: in_network_all_reduce() over the same links; only over several nodes.
/// Segmented algorithms use the fastest number of segments over the slower link; a chain uses
/// optimal_chunk(). The notes list them. Wrong where two messages of a round share a link within a
/// node that cannot carry both at its full rate.
class AllReduceOverride {
 public:
  /// Throws ConfigError as check_all_reduce_override() does, for an algorithm that cannot be set up
  /// on the placement, and where the machine lacks a link it needs. For rules that choose by size,
  /// time() and source() throw these, for their sizes. Requires ≥ 2 ranks. `machine` and `notes`
  /// must outlive this.
  AllReduceOverride(const Machine& machine, const Placement& placement, Schedule schedule,
                    std::string name, Notes& notes);
  [[nodiscard]] Estimate<Seconds> time(Bytes m) const;
  [[nodiscard]] TimeSource source(Bytes m) const;

 private:
  /// One algorithm, or two in sequence.
  using Algorithms = std::vector<const collective::Algorithm*>;
  /// The links that an algorithm crosses, null where it crosses none; between nodes, for a single
  /// message on the way out.
  struct Crossed {
    std::shared_ptr<const LinkEstimate> inter;
    std::shared_ptr<const LinkEstimate> intra;
  };
  /// A message by one algorithm, with its best number of segments.
  struct Part {
    const collective::Algorithm* algorithm = nullptr;
    int segments = 1;
    Crossed crossed;
  };
  using Start = Seconds Estimate<Seconds>::*;
  using Slope = SecondsPerByte Estimate<SecondsPerByte>::*;
  struct Answer {
    Estimate<Seconds> time;
    std::string by;  ///< "ring"
    std::string in;  ///< " in 12 segments", if segmented
    std::vector<std::string> links;
    bool nominal = false;
  };

  [[nodiscard]] Algorithms algorithms(std::string_view name) const;
  [[nodiscard]] Algorithms chosen(Bytes m) const;
  [[noreturn]] void refuse_unknown(const collective::Selection& selection, Bytes m) const;
  [[nodiscard]] std::string obstacle(const Algorithms& algorithms) const;
  [[nodiscard]] const AlgorithmFit* carried_out() const;
  [[nodiscard]] std::shared_ptr<const LinkEstimate> known(LinkKind kind, Bytes transfer,
                                                          Bytes m) const;
  [[nodiscard]] std::shared_ptr<const LinkEstimate> link(LinkKind kind, Bytes transfer,
                                                         Bytes m) const;
  [[nodiscard]] collective::Settings settings(int segments) const;
  [[nodiscard]] collective::Link slower_link(const collective::Algorithm& algorithm, Bytes m) const;
  [[nodiscard]] const SingleLevelRounds& rounds(const collective::Algorithm& algorithm) const;
  [[nodiscard]] Estimate<SecondsPerByte> adding() const;
  [[nodiscard]] int best_segments(const collective::Algorithm& algorithm, Bytes m) const;
  [[nodiscard]] Crossed links(const collective::Algorithm& algorithm, Bytes transfer,
                              Bytes m) const;
  [[nodiscard]] Seconds cost(const collective::Algorithm& algorithm, const collective::Links& links,
                             int segments, Bytes m) const;
  [[nodiscard]] Part part(const collective::Algorithm& algorithm, Bytes m) const;
  [[nodiscard]] Seconds time_of(const Part& part, Bytes m, Start start, Slope per_byte) const;
  void add(const Part& part, Bytes m, Answer& answer) const;
  [[nodiscard]] Answer by(const Algorithms& algorithms, Bytes m) const;
  static void add_links(const Crossed& crossed, Answer& answer);
  [[nodiscard]] Algorithms best(Bytes m) const;
  [[nodiscard]] Answer by_switches(Bytes m) const;
  [[nodiscard]] Answer answer(Bytes m) const;

  const Machine* machine_;
  Placement placement_;
  Schedule schedule_;
  std::string name_;
  Notes* notes_;
  std::vector<Algorithms> candidates_;  ///< for "best": those that can be set up here
  mutable std::map<const collective::Algorithm*, SingleLevelRounds>
      rounds_;  ///< computed at first use
  /// Links by data sheets, or stated, which are the same for all sizes; looked up at first use.
  mutable std::map<LinkKind, std::shared_ptr<const LinkEstimate>> nominal_;
};

}  // namespace dlscale::model
