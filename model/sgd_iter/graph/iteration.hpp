#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/sgd_iter/graph/contention.hpp"
#include "model/sgd_iter/graph/given.hpp"
#include "model/sgd_iter/graph/iteration_time.hpp"
#include "model/sgd_iter/graph/packing.hpp"

namespace dlscale::model {

/// A stretch of the backward pass, up to the point where a message becomes ready.
struct BackwardPart {
  Given compute;
  std::optional<Seconds> message;  ///< its all-reduce; absent: nothing to send after this part
  Bytes size = {};                 ///< of the message, for a plan that packs
  /// Where a message travels in pieces, which others may overtake: those after the first.
  std::vector<Seconds> pieces = {};
  /// Where the message leaves the sum with some ranks only: what brings it, or what was updated
  /// with it, to all.
  std::optional<Seconds> gather = {};
  /// Of the message with its pieces, and of the gather: which of IterationPlan::contention is
  /// theirs.
  std::size_t kind = 0;
  std::size_t gather_kind = 0;
};

/// A stretch of the forward pass that waits for a message of the iteration before (its gather, if
/// it has one) and first updates what that message was about.
struct ForwardPart {
  std::size_t awaits = 0;  ///< the part of backward whose message it is
  Given update;
  Given compute;
};

/// Storage on a server that nodes share.
struct SharedStorage {
  Bytes batch;            ///< > 0, of one rank
  BytesPerSecond server;  ///< > 0, to all nodes together
  BytesPerSecond node;    ///< > 0, to each
};

/// What one iteration of one rank consists of. All ranks are alike, so one stands for all; what
/// they share (storage, links) is in the times.
struct IterationPlan {
  Seconds storage;  ///< until the node's storage has delivered a batch to each of its ranks
  /// Where a server delivers it: what it is read over, for ranks that do not read all at once.
  std::optional<SharedStorage> shared_storage = {};
  Seconds load;  ///< a loader thread's work on its share of a batch
  int loader_threads = 1;
  int prefetch = 2;  ///< batches decoded ahead, ≥ 1
  Given h2d;
  Given forward;                       ///< or what of it waits for no message
  std::vector<ForwardPart> late = {};  ///< the rest, in order of execution
  std::vector<BackwardPart> backward;  ///< in order of execution
  Given update;                        ///< at the end of the iteration
  Schedule schedule = Schedule::wait_free;
  InputCopy input_copy = InputCopy::on_path;
  std::optional<Packing> packing = {};  ///< of messages, instead of one after the other
  int window = 1;                       ///< pieces of messages under way at once, as in Resource
  Seconds choice = {};                  ///< of which piece is next, as in Resource
  /// Of ranks before a message, as in Task: see meeting_before(). Of messages that are packed it is
  /// in Packing; 0 where ranks choose the next piece instead.
  Seconds meeting = {};

  /// Processor cores of the rank, and how many each kind of task keeps busy. On a GPU only the
  /// loader uses any.
  double cores = std::numeric_limits<double>::infinity();
  double loader_cores = 0;   ///< of one loader thread
  double copy_cores = 0;     ///< h2d, if on the path: a copy engine needs none
  double compute_cores = 0;  ///< forward, backward, update
  double comm_cores = 0;

  /// What computing and messages beside it cost each other, by kind of message and of work; empty:
  /// nothing but what sharing cores does. Where cores are shared, it holds what that costs these
  /// two (progress.hpp).
  std::vector<ContentionByWork> contention = {};

  /// Whether messages travel beside computing.
  [[nodiscard]] bool overlaps() const;
  /// Whether some messages have a gather.
  [[nodiscard]] bool gathers() const;
  /// What ranks take to meet before a message after backward of which so many were sent: where a
  /// thread sends them beside computing, before each; else only before the first, for no rank
  /// computes from there on.
  [[nodiscard]] Seconds meeting_before(std::size_t sent) const;
  /// The same for a gather.
  [[nodiscard]] Seconds meeting_before_gather(std::size_t sent) const;
  /// Cores that all tasks that may run at once want together.
  [[nodiscard]] double most_cores_wanted() const;
};

/// The phases of an iteration in the steady state of the task graph of MODEL 1.2. Per iteration:
///   loader threads: `load` on all of them at once, for they take picture after picture from one
///     queue; beside it storage; both may start once the batch `prefetch` before has been taken;
///   device, in order: forward, backward parts [, messages if sequential], update after all
///     messages; on a processor that is the training thread;
///   host, where giving the device its work takes time: step after step beside the device, in front
///     of it if it can; from one iteration to the next, it waits for the device (it reads the
///     loss); with several ranks also for the last message before it gives the update;
///   communication thread (all but sequential): messages one at a time, in order; where they are in
///     pieces, of those that are ready one of the layer nearest the input; where the plan packs, as
///     Packing says.
/// Where no part of forward is late, gathers follow the update, in the order of the messages, and
/// end the iteration. Where parts are late, the iteration ends without waiting for messages: each
/// late part waits for its own, and gathers follow on the communication thread once all messages
/// are through, the layer nearest the input first. What ranks take to meet (IterationPlan::meeting)
/// is part of the message after it.
/// Messages on the communication thread and what the device does meanwhile slow each other down as
/// `contention` says, from when the one begins to when the other ends: rates change at events, so
/// that nothing is averaged but the kinds of work within one stretch (mean_contention()). Loader
/// threads are no part of that. Requires that the host gives work in no time where there is some.
/// Input on the path: the batch is taken when the iteration before has ended, and copied. Ahead:
/// batch k + 1 is taken once it is read, the device has read batch k and the host has given
/// backward of iteration k, and a copy engine copies it from then on; the host waits for messages
/// (sequential: sends them) and gives the update of iteration k once batch k + 1 is taken, and
/// forward of k + 1 waits for the copy. As the engine times them, io is what the end of backward
/// waits for the batch to be taken, exposed_comm what then is still missing of the messages and
/// what late parts of forward wait for them, h2d what the start of the next iteration waits for the
/// copy. Consecutive layers with no message between them are one task, which changes no time.
IterationTime simulate_iteration(const IterationPlan& plan);

/// The same from (1.2), (1.3') or (1.3), and (1.9). Where messages are packed, the mean of many
/// iterations by packed_recurrence(), for the phase of its looks against the iteration wanders;
/// where the next forward pass waits for gathers, by gathered_forward(); where computing and
/// messages slow each other down, by contended_backward() in place of (1.9). Absent, and `why`
/// receives the reason, where threads may want more cores than there are, where the host takes time
/// to give work, where pieces overtake one another, and, where messages are packed or travel beside
/// the next forward pass, where they contend with computing or batches are waited for in a way that
/// shifts them: because then no closed form holds.
std::optional<IterationTime> closed_form(const IterationPlan& plan, std::string& why);

}  // namespace dlscale::model
