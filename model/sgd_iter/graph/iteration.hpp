#pragma once
#include <cstddef>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/sgd_iter/graph/iteration_parts.hpp"

namespace dlscale::model {

/// A stretch of the backward pass, up to the point where a message becomes ready.
struct BackwardPart {
  LaunchedWork compute;
  std::optional<Seconds> message;  ///< its all-reduce; absent: no message after this part
  Bytes size = {};                 ///< message size, for a plan that packs
  /// The pieces after the first, where a message travels in pieces that others may overtake.
  std::vector<Seconds> pieces = {};
  /// Distributes the sum, or the updated parameters, to all ranks where the message leaves it on
  /// some.
  std::optional<Seconds> gather = {};
  /// Indices into IterationPlan::contention of the message with its pieces, and of the gather.
  std::size_t kind = 0;
  std::size_t gather_kind = 0;
};

/// A stretch of the forward pass that waits for a message of the iteration before (or its gather)
/// and first updates the parameters of that message.
struct ForwardPart {
  std::size_t awaits = 0;  ///< the part of backward that sends it
  LaunchedWork update;
  LaunchedWork compute;
};

/// Storage on a server that nodes share.
struct SharedStorage {
  Bytes batch;            ///< > 0, batch of one rank
  BytesPerSecond server;  ///< > 0, total of all nodes
  BytesPerSecond node;    ///< > 0, of each node
};

/// The exchange of all gradients beside a whole iteration: messages of one iteration also travel
/// beside update and forward of the next. Of T equal parts the last is ready after backward, and
/// update and forward wait for it.
struct RunningExchange {
  Seconds others;        ///< T - 1 parts, from when those of the iteration before have arrived
  Seconds last;          ///< the last part
  std::size_t kind = 0;  ///< index into IterationPlan::contention
};

/// The work of one iteration of one rank. All ranks are alike, so one stands for all; their sharing
/// of storage and links is included in the times.
struct IterationPlan {
  Seconds storage;  ///< until the storage of the node has delivered a batch to each rank
  /// A shared server and its links, for ranks that do not read at the same time.
  std::optional<SharedStorage> shared_storage = {};
  Seconds load;  ///< one loader thread's share of a batch
  int loader_threads = 1;
  int prefetch = 2;  ///< batches decoded ahead, ≥ 1
  LaunchedWork h2d;
  LaunchedWork forward;                ///< or the part that waits for no message
  std::vector<ForwardPart> late = {};  ///< the rest, in order of execution
  std::vector<BackwardPart> backward;  ///< in order of execution
  LaunchedWork update;                 ///< at the end of the iteration
  /// Instead of messages of parts of backward. Requires that none is late or gathers.
  std::optional<RunningExchange> running = {};
  Schedule schedule = Schedule::wait_free;
  InputCopy input_copy = InputCopy::on_path;
  std::optional<Packing> packing = {};  ///< how messages are packed; absent: one after the other
  int window = 1;                       ///< concurrent pieces of messages, as in Resource
  Seconds choice = {};                  ///< choosing the next piece, as in Resource
  /// Meeting of ranks before a message, as in Task: see barrier_before(). Packed messages have it
  /// in Packing; 0 where ranks choose the next piece instead.
  Seconds barrier = {};
  /// ≥ 1: computing of the slowest rank over the mean. All computing of the plan has this factor.
  double slowest = 1;
  /// Time of the device after all messages and before the update, while it computes nothing: ranks
  /// copy gradients and wait for each other. It counts as exposed communication.
  Seconds meeting = {};

  /// Processor cores of the rank, and the number each kind of task keeps busy. On a GPU only the
  /// loader uses cores.
  double cores = std::numeric_limits<double>::infinity();
  double loader_cores = 0;   ///< of one loader thread
  double copy_cores = 0;     ///< h2d on the critical path; a copy engine needs none
  double compute_cores = 0;  ///< forward, backward, update
  double comm_cores = 0;

  /// Slow-downs of computing and concurrent messages, by kind of message and of work; empty: only
  /// by sharing cores. Where cores are shared, they include the cost of that to both
  /// (task_graph.cpp).
  std::vector<ContentionByWork> contention = {};

  /// Whether messages overlap with computing.
  [[nodiscard]] bool overlaps() const;
  /// Whether some messages have a gather.
  [[nodiscard]] bool gathers() const;
  /// Meeting time before a message after backward, of which `sent` went before. A communication
  /// thread meets before each; else ranks meet only before the first, because no rank computes
  /// after it.
  [[nodiscard]] Seconds barrier_before(std::size_t sent) const;
  /// The barrier time before a gather.
  [[nodiscard]] Seconds barrier_before_gather(std::size_t sent) const;
  /// Most cores that concurrent tasks may want in total.
  [[nodiscard]] double most_cores_wanted() const;
};

/// Simulates the task graph of S-SGD (closed_form.hpp) and returns the phases of an iteration in
/// its steady state. Per iteration:
///   loader threads: `load` on all of them at once, because they take image after image from one
///     queue, and storage in parallel; both may start once the batch `prefetch` before was taken;
///   device, in order: forward, backward parts [, messages if sequential], update after all
///     messages; on a processor that is the training thread;
///   host, where launches take time: step after step, concurrent with the device and ahead of it if
///     possible; between iterations it waits for the device (it reads the loss); with several ranks
///     it also waits for the last message before it launches the update;
///   communication thread (all but sequential): messages one at a time, in order; if they are in
///     pieces, the ready piece nearest the input first; if the plan packs, as in Packing.
/// Where no part of forward is late, gathers follow the update, in the order of the messages, and
/// end the iteration. Where parts are late, the iteration ends without waiting for messages: each
/// late part waits for its own, and gathers follow on the communication thread after all messages,
/// the layer nearest the input first. A barrier of the ranks (IterationPlan::barrier) is part of
/// the message after it. Messages on the communication thread and concurrent work of the device
/// slow each other down by `contention`. Rates change at events, so only kinds of work within one
/// stretch are averaged (mean_contention()). Loader threads do not take part. Requires a host that
/// launches in no time if there is contention. Input on the path: the batch is taken when the
/// iteration before has ended, and copied. Input ahead: batch k + 1 is taken once it is read, the
/// device has read batch k and the host has launched backward of iteration k. Then a copy engine
/// copies it. The host waits for messages (sequential: sends them) and launches the update of
/// iteration k once batch k + 1 is taken; forward of k + 1 waits for the copy. Phases follow the
/// engine's timers. io is the wait at the end of backward for the batch to be taken. exposed_comm
/// is the wait for messages after that, and of late parts of forward. h2d is the wait for the copy
/// at the start of the next iteration. Consecutive layers without a message between them are one
/// task, which changes no time. What the slowest rank computes longer than the mean counts as
/// exposed communication, because the others wait for its messages. A running exchange:
///   t_iter = max{ t_u + t_f + t_b, others } + last, and the meeting, where input keeps up.
IterationTime simulate_iteration(const IterationPlan& plan);

/// The same phases from iteration_input_prefetched() or iteration_copied_ahead(), and
/// wait_free_closed_form(). Packed messages: the mean of many
/// iterations by packed_recurrence(), because the phase of its looks drifts against the iteration.
/// Forward that waits for gathers: gathered_forward(). Contention: contended_backward() in place
/// of wait_free_closed_form().
/// Empty, with the reason in `why`, where no closed form holds: threads may want more cores than
/// there are, launches take time, or pieces overtake one another. For messages that are packed or
/// overlap the next forward pass, also where they contend with computing or are shifted by waits
/// for batches.
std::optional<IterationTime> closed_form(const IterationPlan& plan, std::string& why);

/// The time of an iteration by closed_form(), or by simulate_iteration() where none holds.
Seconds iteration_total(const IterationPlan& plan);

}  // namespace dlscale::model
