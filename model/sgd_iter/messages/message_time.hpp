#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/collective/algorithm.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "model/sgd_iter/evidence/time_source.hpp"
#include "model/sgd_iter/messages/nccl_times.hpp"
#include "model/sgd_iter/messages/sheet_links.hpp"
#include "model/topology/nominal_all_reduce.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {

/// Whether messages of a placement cross a link between nodes that was stated
/// (Machine::inter_node_stated): then what was measured across nodes says nothing of them.
bool crosses_stated_link(const Machine& machine, const Placement& placement);

/// Why it says nothing, as the rest of a sentence: "for the link between nodes is another …".
std::string stated_link_text(const Machine& machine);

class AskedAllReduce;

/// How long an all-reduce takes on the ranks of a placement.
///   asked for by name (Machine::all_reduce_asked): as asked.
///   fitted, measured on as many ranks: the fit.
///   fitted on several other numbers of ranks over the same kind of link: by the closed form fitted
///     to all of them (communication/algorithm_fit.hpp).
///   fitted, not measured there: α and β of a link follow from the nearest fit by the closed form
///     of an algorithm, and the time on more ranks by the same closed form; over several nodes each
///     step costs at least what the nominal inter-node link takes, shared by as many ranks of a
///     node as the algorithm lets send at once (Outflow). The best of those that libraries run
///     between ranks counts, message by message, because they choose theirs so. γ is taken to be
///     part of β.
///   fitted, without any all-reduce over such links, but with messages from one rank to another:
///     by these and the closed form that then takes least (pair_time.hpp), that of a ring where the
///     cluster names it, unless it names another rule for what was not measured.
///   nominal: by the rule of the cluster: a ring over the slowest link (1.14), two levels of rings
///     (3.13), what NCCL would choose by its own cost model (NcclTimes), or where no rule is
///     stated, for each message the quickest of those that libraries choose among
///     (nominal_all_reduces()). The interval of these is by sheet_links(), at both ends by what is
///     quickest there.
/// A link between nodes that was stated (Machine::inter_node_stated) replaces what was measured
/// across nodes: over several nodes, only fits within a node and nominal links count then.
/// Ranks that send after backward enter each message together, as those that met spinning; a
/// communication thread sleeps until all are ready, so overlapped messages cost what they cost
/// after sleeping, where that was measured.
class MessageTimes {
 public:
  /// Throws ConfigError if the machine says nothing about any link the ranks need. `notes` receives
  /// what was extrapolated, and must outlive this.
  MessageTimes(const Machine& machine, const Placement& placement, Schedule schedule, Notes& notes);
  [[nodiscard]] Estimate<Seconds> time(Bytes message) const;
  /// Where that time comes from: fitted, extrapolated or data_sheet. Requires ≥ 2 ranks.
  [[nodiscard]] TimeSource source(Bytes message) const;
  /// Whether that time is what NCCL's own cost model says, which knows other collectives as well.
  [[nodiscard]] bool is_nccl() const;

 private:
  void find_fit(const std::vector<const CollectiveFit*>& fits);
  [[nodiscard]] std::optional<Estimate<Seconds>> by_closed_form(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> by_pair(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> nominal(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> extrapolate(Bytes message) const;
  [[nodiscard]] Estimate<Seconds> by(const collective::Algorithm& algorithm, Bytes message) const;

  const Machine* machine_;
  Placement placement_;
  Notes* notes_;
  const CollectiveFit* fit_ = nullptr;  ///< on as many ranks, or the nearest; may be absent
  bool exact_ = false;
  const AlgorithmFit* over_ranks_ = nullptr;  ///< where it is not exact, and links were measured
  const CollectiveFit* pair_ = nullptr;       ///< where neither of these is there
  bool crosses_unmeasured_nodes_ = false;     ///< nodes were not part of the fit
  bool crosses_nominal_link_ = false;         ///< and the link between them is known
  std::optional<SheetLinks> ends_;            ///< where a nominal link counts
  /// What the rule of the cluster offers over them; where nothing was measured.
  struct Offered {
    std::vector<NominalAllReduce> stated;
    std::vector<NominalAllReduce> quick;
    std::vector<NominalAllReduce> slow;
  };
  [[nodiscard]] const Offered& offered() const;
  mutable std::optional<Offered> offered_;  ///< once it is asked for
  std::optional<NcclTimes> nccl_;           ///< where nothing was measured and the cluster says so
  std::shared_ptr<const AskedAllReduce> asked_;
};

}  // namespace dlscale::model
