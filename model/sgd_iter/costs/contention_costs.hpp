#pragma once
#include <array>
#include <cstddef>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/run/run.hpp"
#include "model/communication/contention.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/evidence/notes.hpp"

namespace dlscale::model {

/// A measured contention that a prediction uses: the slow-downs of messages of `collective`, of
/// [from, to) bytes, and work of kind `work`.
struct UsedContention {
  std::string collective;
  WorkKind work = WorkKind::conv;
  ContentionRange range;
  std::string measured;  ///< to_text() of the fit
  std::string source;
};

/// The slow-downs of one kind of work and of concurrent messages.
struct ContentionEstimate {
  Estimate<double> compute = Estimate<double>::exact(1);
  Estimate<double> messages = Estimate<double>::exact(1);
};

/// The kinds of messages of one collective, by size: messages of [bound i - 1, bound i) bytes are
/// of kind `first` + i.
struct MessageKinds {
  std::size_t first = 0;
  std::vector<Bytes> bounds = {};  ///< ascending
  [[nodiscard]] std::size_t of(Bytes size) const;
};

/// The slow-downs of computing and messages in a run.
struct ContentionCosts {
  /// By kind of message and of work; empty where nothing is known or nothing overlaps.
  std::vector<std::array<ContentionEstimate, work_kinds>> kinds;
  MessageKinds message;  ///< of messages sent when gradients are ready
  MessageKinds gather;   ///< of the gathers after them
  std::vector<UsedContention> used;
};

/// Processor cores of a rank, and the number that computing keeps busy.
struct RankCores {
  double all = 1;
  double computing = 1;
};

/// Looks up contention measured on the placement of the run: equal ranks and ranks on a node, or
/// over several nodes another number of nodes. The sending thread must have a core to itself in
/// both or in neither, because the slow-downs include sharing one. Work must have used as many
/// threads as the run where the library runs it on several. Substitutes:
///   for an unmeasured kind of work, the nearest in its use of memory;
///   for an unmeasured collective, all-reduce, else another;
///   for another way of waiting, what was measured.
/// Notes each substitute, and missing measurements. A stated link between nodes
/// (Machine::inter_node_stated) replaces measurements across nodes. Looks nothing up for one rank,
/// for `sequential`, for data sheets, and for devices with their own memory, for which contention
/// is not measured.
ContentionCosts contention_costs(const Machine& machine, const Run& run, const RankCores& cores,
                                 Notes& notes);

/// The kind of work of a step.
WorkKind work_kind(const Network& network, Step step);

}  // namespace dlscale::model
