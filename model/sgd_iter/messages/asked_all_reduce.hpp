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
#include "model/sgd_iter/evidence/time_source.hpp"
#include "model/sgd_iter/messages/known_links.hpp"
#include "model/topology/flat_rounds.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// The words of predict --all-reduce that AskedAllReduce knows: the all-reduces of core/collective
/// that need ranks alone, "chain" (a reduce and a broadcast along a chain), and who chooses one by
/// the size of a message or the ranks: "open_mpi", "mpich", "gloo", "horovod_hierarchical", "best"
/// (that of least time).
std::vector<std::string> asked_all_reduces();
/// What predict --sharp asks for: switches that add (topology/in_network.hpp). On one node, which
/// has none, all-reduces are as if nothing was asked for.
inline constexpr std::string_view adding_switches = "sharp";
/// Throws ConfigError for a word that is none of them.
void check_asked_all_reduce(std::string_view name);

/// All-reduces by an algorithm that somebody asks for, whatever a library was measured to do:
///   carried out by it and fitted (bench comm --algorithm NAME): that fit and its closed form;
///   else over known_link() within a node and between nodes, with γ of the machine, 0 if it knows
///     none: on one node its closed form; over several, of two levels its closed form, the β
///     between nodes shared by as many ranks of a node as it lets send at once (Outflow), and of
///     one level round by round, by who leaves the node in each (FlatRounds). Where an algorithm
///     cuts messages in segments, in as many as take least by the slower of the links; of a chain
///     by (3.15). The notes tell them.
/// adding_switches: in_network_all_reduce() over the same links; only over several nodes.
/// Wrong where two messages of a round meet on a link within a node that cannot carry both at its
/// full rate.
class AskedAllReduce {
 public:
  /// Throws ConfigError as check_asked_all_reduce() does, for an algorithm that cannot be set up on
  /// the placement, and where the machine knows nothing of a link it needs. Of who chooses by size,
  /// time() and source() do so, for the sizes they are asked for. Requires ≥ 2 ranks. `machine` and
  /// `notes` must outlive this.
  AskedAllReduce(const Machine& machine, const Placement& placement, Schedule schedule,
                 std::string name, Notes& notes);
  [[nodiscard]] Estimate<Seconds> time(Bytes m) const;
  [[nodiscard]] TimeSource source(Bytes m) const;

 private:
  /// One or two algorithms that follow one another.
  using Algorithms = std::vector<const collective::Algorithm*>;
  /// Those that an algorithm crosses, null where it has none to cross; between nodes, of one
  /// message that has the way out alone.
  struct Crossed {
    std::shared_ptr<const KnownLink> inter;
    std::shared_ptr<const KnownLink> intra;
  };
  /// A message by one algorithm, cut as is best.
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
    std::string in;  ///< " in 12 segments", where it cuts messages
    std::vector<std::string> links;
    bool nominal = false;
  };

  [[nodiscard]] Algorithms algorithms(std::string_view name) const;
  [[nodiscard]] Algorithms chosen(Bytes m) const;
  [[noreturn]] void refuse_unknown(const collective::Selection& selection, Bytes m) const;
  [[nodiscard]] std::string obstacle(const Algorithms& algorithms) const;
  [[nodiscard]] const AlgorithmFit* carried_out() const;
  [[nodiscard]] std::shared_ptr<const KnownLink> known(LinkKind kind, Bytes transfer,
                                                       Bytes m) const;
  [[nodiscard]] std::shared_ptr<const KnownLink> link(LinkKind kind, Bytes transfer, Bytes m) const;
  [[nodiscard]] collective::Settings settings(int segments) const;
  [[nodiscard]] collective::Link slower_link(const collective::Algorithm& algorithm, Bytes m) const;
  [[nodiscard]] const FlatRounds& rounds(const collective::Algorithm& algorithm) const;
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
  std::vector<Algorithms> candidates_;  ///< of best: those that can be set up here
  mutable std::map<const collective::Algorithm*, FlatRounds> rounds_;  ///< once they are asked for
  /// Those by data sheets, or stated, which are the same for all sizes; once they are asked for.
  mutable std::map<LinkKind, std::shared_ptr<const KnownLink>> nominal_;
};

}  // namespace dlscale::model
