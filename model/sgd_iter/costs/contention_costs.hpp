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

/// A measured contention that a prediction counts with: what messages of `collective` and work of
/// kind `work` cost each other, for messages of [from, to) bytes.
struct UsedContention {
  std::string collective;
  WorkKind work = WorkKind::conv;
  ContentionRange range;
  std::string measured;  ///< of what: to_text() of the fit
  std::string source;
};

/// The slow-downs of one kind of work and of messages beside it.
struct ContentionEstimate {
  Estimate<double> compute = Estimate<double>::exact(1);
  Estimate<double> messages = Estimate<double>::exact(1);
};

/// The kinds of the messages of one collective, by size: those of [bound i - 1, bound i) bytes are
/// of kind `first` + i.
struct MessageKinds {
  std::size_t first = 0;
  std::vector<Bytes> bounds = {};  ///< ascending
  [[nodiscard]] std::size_t of(Bytes size) const;
};

/// What computing and messages of a run cost each other.
struct ContentionCosts {
  /// By kind of message and of work; empty where nothing is known of it or nothing overlaps.
  std::vector<std::array<ContentionEstimate, work_kinds>> kinds;
  MessageKinds message;  ///< of what is sent when gradients are ready
  MessageKinds gather;   ///< of what brings them back
  std::vector<UsedContention> used;
};

/// Processor cores of a rank, and how many of them computing keeps busy.
struct RankCores {
  double all = 1;
  double computing = 1;
};

/// Looks up what was measured where ranks lie as those of the run do: as many of them, and as many
/// on a node; over several nodes also another number of nodes. A thread that sends must have a core
/// to itself in both or in neither, for what sharing one costs is in the slow-downs; and work must
/// have run on as many threads as it will, where the library runs it on several. Where
///   a kind of work was not measured, the nearest in what it asks of memory stands for it,
///   a collective was not, all-reduce, else another;
///   ranks did not meet as those of the run do, what was measured stands for it.
/// Each is noted, and so is that nothing was measured. A link between nodes that was stated
/// (Machine::inter_node_stated) replaces what was measured across nodes. Nothing is looked up for
/// one rank, for `sequential`, for data sheets, and for devices with memory of their own, beside
/// which nothing is measured.
ContentionCosts contention_costs(const Machine& machine, const Run& run, const RankCores& cores,
                                 Notes& notes);

/// The kind of work that a step is.
WorkKind work_kind(const Network& network, Step step);

}  // namespace dlscale::model
