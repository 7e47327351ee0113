#pragma once
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "core/run.hpp"
#include "core/units.hpp"
#include "model/sgd_iter/given.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {

/// A stretch of the backward pass, up to the point where a message becomes ready.
struct BackwardPart {
  Given compute;
  std::optional<Seconds> message;  ///< its all-reduce; absent: nothing to send after this part
};

/// What one iteration of one rank consists of. All ranks are alike, so one stands for all; what
/// they share (storage, links) is in the times.
struct IterationPlan {
  Seconds storage;  ///< until the node's storage has delivered a batch to each of its ranks
  Seconds load;     ///< a loader thread's work on its share of a batch
  int loader_threads = 1;
  int prefetch = 2;  ///< batches decoded ahead, ≥ 1
  Given h2d;
  Given forward;
  std::vector<BackwardPart> backward;  ///< in order of execution
  Given update;
  Schedule schedule = Schedule::wait_free;
  InputCopy input_copy = InputCopy::on_path;

  /// Processor cores of the rank, and how many each kind of task keeps busy. On a GPU only the
  /// loader uses any.
  double cores = std::numeric_limits<double>::infinity();
  double loader_cores = 0;   ///< of one loader thread
  double copy_cores = 0;     ///< h2d, if on the path: a copy engine needs none
  double compute_cores = 0;  ///< forward, backward, update
  double comm_cores = 0;

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
///   communication thread (wait_free, bucketed): messages one at a time, in order.
/// Input on the path: the batch is taken when the iteration before has ended, and copied. Ahead:
/// batch k + 1 is taken once it is read, the device has read batch k and the host has given
/// backward of iteration k, and a copy engine copies it from then on; the host waits for messages
/// (sequential: sends them) and gives the update of iteration k once batch k + 1 is taken, and
/// forward of k + 1 waits for the copy. As the engine times them, io is what the end of backward
/// waits for the batch to be taken, exposed_comm what then is still missing of the messages, h2d
/// what the start of the next iteration waits for the copy. Consecutive layers with no message
/// between them are one task, which changes no time.
IterationTime simulate_iteration(const IterationPlan& plan);

/// The same from (1.2), (1.3') or (1.3), and (1.9). Absent where threads may want more cores than
/// there are and where the host takes time to give work, because then no closed form holds; `why`
/// receives the reason.
std::optional<IterationTime> closed_form(const IterationPlan& plan, std::string& why);

}  // namespace dlscale::model
