#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "core/run/run.hpp"
#include "model/fits/piecewise.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"
#include "model/sgd_iter/scaling/sheet_exchange.hpp"
#include "model/topology/nccl.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// A message of one number of 4 bytes.
inline constexpr Bytes smallest_message(4);

/// NCCL's own cost model (nccl.hpp) of a collective on the ranks of a placement, by the facts of
/// the cluster. The low end of the interval subtracts the time of its smallest message, because the
/// model has no links without start-ups. The high end is the time over the slowest links
/// (datasheet_links()).
class NcclTimes {
 public:
  /// Requires ≥ 2 ranks and a cluster with facts for NCCL.
  NcclTimes(const Machine& machine, const Placement& placement, collective::Collective collective);
  /// `name` is that of the collective in `notes`, which receive NCCL's choice.
  [[nodiscard]] Estimate<Seconds> time(Bytes message, const std::string& name, Notes& notes) const;

 private:
  NcclModel stated_;
  NcclModel slow_;
};

/// Whether messages of a placement cross a stated link between nodes (Machine::inter_node_stated),
/// so that measurements across nodes do not apply.
bool crosses_stated_link(const Machine& machine, const Placement& placement);

class AllReduceOverride;

/// Time of an all-reduce on the ranks of a placement, by the first that applies:
///   an algorithm by name (Machine::all_reduce_asked): AllReduceOverride.
///   fitted on as many ranks: the fit.
///   fitted on several other numbers of ranks over the same kind of link: the closed form fitted to
///     all of them (communication/algorithm_fit.hpp).
///   fitted, not measured there: α and β of a link follow from the nearest fit by the closed form
///     of an algorithm, and the time on more ranks by the same closed form. Over several nodes each
///     step costs at least the time of the nominal inter-node link, shared by as many ranks of a
///     node as the algorithm lets send at once (Outflow). The fastest of the algorithms that
///     libraries run between ranks counts for each message, because libraries choose for each. γ
///     is assumed to be part of β.
///   fitted, without any all-reduce over such links, but with messages from one rank to another:
///     the closed form that then takes least (link_estimate.hpp), or a ring where the cluster names
///     it, unless it names another rule for what was not measured.
///   a machine from data sheets: as published trainings exchange gradients over such links
///     (sheet_messages()), whatever the rule of the cluster.
///   not measured on a machine that was measured: nominal links and the rule of the cluster: a ring
///   over the slowest link, two levels of rings,
///     or NCCL's choice by its own cost model (NcclTimes). Without a rule, the fastest of
///     those that libraries choose among, for each message (nominal_all_reduces()). The interval is
///     by datasheet_links(), with the fastest at both ends.
/// A stated link between nodes (Machine::inter_node_stated) replaces measurements across nodes:
/// then only fits within a node and nominal links count over several nodes.
/// Ranks that send after backward enter each message together, as after spinning. A communication
/// thread sleeps until all are ready, so overlapped messages use the fits after sleeping, where
/// measured.
class MessageTimes {
 public:
  /// Throws ConfigError if the machine lacks a link that the ranks need. `notes` receives
  /// extrapolations, and must outlive this.
  MessageTimes(const Machine& machine, const Placement& placement, Schedule schedule, Notes& notes);
  [[nodiscard]] Estimate<Seconds> time(Bytes message) const;
  /// Source of that time: fitted, extrapolated or data_sheet. Requires ≥ 2 ranks.
  [[nodiscard]] TimeSource source(Bytes message) const;
  /// Whether that time is by NCCL's own cost model, which also covers other collectives.
  [[nodiscard]] bool is_nccl() const;

 private:
  void find_fit(const std::vector<const CollectiveFit*>& fits);
  [[nodiscard]] std::optional<Estimate<Seconds>> by_closed_form(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> by_pair(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> by_sheets(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> nominal(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> extrapolate(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> by(const collective::Algorithm& algorithm, Bytes message) const;

  const Machine* machine_;
  Placement placement_;
  Notes* notes_;
  const CollectiveFit* fit_ = nullptr;  ///< on as many ranks, or the nearest number; may be absent
  bool exact_ = false;
  const AlgorithmFit* over_ranks_ = nullptr;  ///< where fit_ is not exact, and links were measured
  const CollectiveFit* pair_ = nullptr;       ///< where neither of these exists
  bool crosses_unmeasured_nodes_ = false;     ///< nodes were not part of the fit
  bool crosses_nominal_link_ = false;         ///< and the link between them is known
  std::optional<DatasheetLinks> ends_;        ///< where a nominal link is used
  /// The candidates of the cluster's rule over the stated, fast and slow links; where nothing was
  /// measured.
  struct Offered {
    std::vector<NominalAllReduce> stated;
    std::vector<NominalAllReduce> quick;
    std::vector<NominalAllReduce> slow;
  };
  [[nodiscard]] const Offered& offered() const;
  mutable std::optional<Offered> offered_;  ///< computed at first use
  /// Present where nothing was measured and the cluster names nccl.
  std::optional<NcclTimes> nccl_;
  std::shared_ptr<const AllReduceOverride> asked_;
  std::optional<SheetMessages> by_sheets_;
};

/// Time of simultaneous ranks to meet before a message of training, until the first continues: a
/// barrier of ⌈lg p⌉ rounds of empty messages, in which ranks sleep. In this order:
///   an all-reduce of 4 B, which has as many rounds, after spinning;
///   ⌈lg p⌉ of the smallest messages from one rank to another, likewise;
///   nothing, which is noted: where neither was measured, and from data sheets.
/// After sleeping, measured messages include the wake-up of the other ranks, because bench comm
/// times each rank from its own end of the barrier. They are not used here, where the wake-up would
/// count twice. [D, derived] Wrong where one rank is so late that the others sleep their longest:
/// then it continues at once, and they wake up to 100 µs later.
Estimate<Seconds> barrier_time(const Machine& machine, const Placement& placement, Notes& notes);

}  // namespace dlscale::model
