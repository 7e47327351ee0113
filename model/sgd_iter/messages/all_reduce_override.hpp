#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/messages/algorithm_time.hpp"
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

/// Replaces the measured or usual all-reduce of a prediction by the one that predict --all-reduce
/// names. "quickest" leaves the all-reduce of a cluster of data sheets as it is. Throws ConfigError
/// for an unknown word, and for one that the machine cannot answer.
void set_all_reduce(Machine& machine, std::string_view wanted);

/// All-reduces by a given algorithm, whatever a library was measured to do. If its execution was
/// measured and fitted (bench comm --algorithm NAME), that fit and its closed form; else
/// AlgorithmTimes. adding_switches: in_network_all_reduce() over the same links; only over several
/// nodes. Segments are as AlgorithmTimes says; the notes list them.
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
  [[nodiscard]] AlgorithmSequence algorithms(Bytes m) const;
  [[nodiscard]] const AlgorithmFit* carried_out() const;
  [[nodiscard]] AlgorithmAnswer answer(Bytes m) const;

  const Machine* machine_;
  Placement placement_;
  std::string name_;
  AlgorithmTimes times_;
  Notes* notes_;
  std::vector<AlgorithmSequence> candidates_;  ///< for "best": those that can be set up here
};

}  // namespace dlscale::model
