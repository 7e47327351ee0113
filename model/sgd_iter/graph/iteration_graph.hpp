#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/graph/task_graph.hpp"

namespace dlscale::model {

/// The time from the end of one task to the end of another.
struct Stretch {
  TaskId from;
  TaskId to;
};

/// The tasks of one iteration that mark its phases.
struct IterationMarks {
  TaskId load;
  TaskId take;  ///< taking its batch
  TaskId h2d;
  std::vector<Stretch> waits;    ///< waits of forward for messages of the iteration before
  std::vector<Stretch> updates;  ///< in forward
  TaskId forward;
  TaskId backward;  ///< the last part
  TaskId staged;    ///< backward, and the next batch taken if copied ahead
  std::vector<TaskId> messages;
  TaskId waited;  ///< all messages and the host have arrived
  TaskId update;
  TaskId end;  ///< update, and gathers if no part of forward is late
};

/// Distinguishes tasks where ranks are not alike.
enum class Part {
  own,         ///< of a rank, independent of its speed
  computing,   ///< of a rank, at its own speed: forward, backward, update
  storage,     ///< of a rank, on its node's shared path to storage
  collective,  ///< of all ranks together, once all are ready: a message or a gather
};

/// The iterations of a plan as a graph of one rank that stands for all: see simulate_iteration().
class IterationGraph {
 public:
  /// The plan must outlive it.
  explicit IterationGraph(const IterationPlan& plan);
  void add_iteration();
  [[nodiscard]] const IterationPlan& plan() const { return *plan_; }
  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<IterationMarks>& iterations() const { return iterations_; }
  [[nodiscard]] Part part_of(TaskId task) const { return of_part_[task.index()]; }
  /// Number of tasks after each iteration.
  [[nodiscard]] const std::vector<std::size_t>& ends() const { return ends_; }

 private:
  /// The last tasks of the host and of the device.
  struct Positions {
    TaskId host;
    TaskId device;
  };
  /// A batch on its way to the device.
  struct Staged {
    TaskId load;
    TaskId take;
    TaskId copied;  ///< only if copied ahead
  };

  [[nodiscard]] bool ahead() const { return plan_->input_copy == InputCopy::ahead; }
  [[nodiscard]] bool sequential() const { return plan_->schedule == Schedule::sequential; }
  [[nodiscard]] bool late() const { return !plan_->late.empty(); }
  [[nodiscard]] std::vector<Contention> beside(const LaunchedWork& work) const;
  TaskId add(Task task, Part part);
  TaskId join(std::vector<TaskId> after);
  Positions wait_for(const std::vector<TaskId>& tasks, Positions at);
  Positions run(const LaunchedWork& work, double cores, Positions at, Part part = Part::computing);
  Staged stage(std::vector<TaskId> after);
  Positions add_input(IterationMarks& marks);
  Positions add_forward(IterationMarks& marks, Positions at);
  Positions add_backward(IterationMarks& marks, Positions at);
  Positions add_staging(IterationMarks& marks, Positions at);
  void send(Seconds message, std::size_t part, IterationMarks& marks);
  void add_messages(IterationMarks& marks);
  void add_running(IterationMarks& marks);
  Positions add_gathers(Positions at);
  void add_late_gathers(IterationMarks& marks);
  Positions add_exchange(IterationMarks& marks, Positions at);

  const IterationPlan* plan_;
  TaskGraph graph_;
  std::vector<Part> of_part_;  ///< by task
  ResourceId storage_;
  ResourceId loaders_;
  ResourceId device_;
  ResourceId copy_engine_;
  ResourceId comm_;
  std::vector<TaskId> takes_;  ///< by batch
  std::vector<TaskId> parts_;  ///< of backward, in the iteration being added
  /// Tasks that a late part of forward waits for, by part of backward of the last iteration.
  std::vector<std::vector<TaskId>> arrivals_;
  std::optional<Staged> staged_;  ///< the next batch, if copied ahead
  std::vector<IterationMarks> iterations_;
  std::vector<std::size_t> ends_;
};

/// Number of batches read ahead in the graph. The steady state does not depend on the depth of the
/// queue, because nothing jitters here; a deep queue only takes longer to fill.
std::size_t queue_length(const IterationPlan& plan);

/// The phases of an iteration that begins at `start`, as the engine would time them. `next` is the
/// next iteration, whose forward pass may wait for messages of this one.
IterationTime phases(const IterationPlan& plan, const Timeline& timeline,
                     const IterationMarks& marks, Seconds start, const IterationMarks& next);

/// All members of IterationTime.
inline constexpr Seconds IterationTime::*all_phases[] = {
    &IterationTime::io,       &IterationTime::h2d,          &IterationTime::forward,
    &IterationTime::backward, &IterationTime::exposed_comm, &IterationTime::update,
    &IterationTime::total,    &IterationTime::hidden_comm,  &IterationTime::load};

}  // namespace dlscale::model
