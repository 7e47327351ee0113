#include "model/sgd_iter/iteration.hpp"

#include <algorithm>
#include <cmath>

#include "core/error.hpp"
#include "model/sgd_iter/task_graph.hpp"

namespace dlscale::model {

bool IterationPlan::overlaps() const {
  return schedule != Schedule::sequential &&
         std::ranges::any_of(backward,
                             [](const BackwardPart& part) { return part.message.has_value(); });
}

bool IterationPlan::gathers() const {
  return std::ranges::any_of(backward,
                             [](const BackwardPart& part) { return part.gather.has_value(); });
}

Seconds IterationPlan::meeting_before(std::size_t sent) const {
  if (packing) return {};
  return schedule != Schedule::sequential || sent == 0 ? meeting : Seconds();
}

Seconds IterationPlan::meeting_before_gather(std::size_t sent) const {
  return !late.empty() || sent == 0 ? meeting : Seconds();
}

double IterationPlan::most_cores_wanted() const {
  const bool sequential = schedule == Schedule::sequential;
  const bool sends = sequential || (gathers() && late.empty());
  const double training = std::max({copy_cores, compute_cores, sends ? comm_cores : 0});
  const double beside = overlaps() ? comm_cores : 0;
  return training + beside + loader_threads * loader_cores;
}

namespace {

/// From the end of a task to the end of another.
struct Stretch {
  TaskId from;
  TaskId to;
};

/// The tasks of one iteration that its phases are read from.
struct Marks {
  TaskId load;
  TaskId take;  ///< of its batch
  TaskId h2d;
  std::vector<Stretch> waits;    ///< for messages of the iteration before, in forward
  std::vector<Stretch> updates;  ///< in forward
  TaskId forward;
  TaskId backward;  ///< the last part
  TaskId staged;    ///< backward, and the next batch taken if copied ahead
  std::vector<TaskId> messages;
  TaskId waited;  ///< for messages and the host
  TaskId update;
  TaskId end;  ///< update, and gathers if nothing of forward is late
};

/// After which tasks the host and the device go on.
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

/// The steady state does not depend on the depth of the queue, for nothing jitters here (9.3); a
/// deep one only takes longer to fill.
std::size_t queue_length(const IterationPlan& plan) {
  return static_cast<std::size_t>(std::min(plan.prefetch, 4));
}

class IterationGraph {
 public:
  explicit IterationGraph(const IterationPlan& plan);
  void add_iteration();
  [[nodiscard]] const TaskGraph& graph() const { return graph_; }
  [[nodiscard]] const std::vector<Marks>& iterations() const { return iterations_; }

 private:
  [[nodiscard]] bool ahead() const { return plan_->input_copy == InputCopy::ahead; }
  [[nodiscard]] bool sequential() const { return plan_->schedule == Schedule::sequential; }
  [[nodiscard]] bool late() const { return !plan_->late.empty(); }
  [[nodiscard]] std::vector<Contention> beside(const Given& work) const;
  TaskId join(std::vector<TaskId> after);
  Positions wait_for(const std::vector<TaskId>& tasks, Positions at);
  Positions run(const Given& work, double cores, Positions at);
  Staged stage(std::vector<TaskId> after);
  Positions add_input(Marks& marks);
  Positions add_forward(Marks& marks, Positions at);
  Positions add_backward(Marks& marks, Positions at);
  Positions add_staging(Marks& marks, Positions at);
  void send(Seconds message, std::size_t part, Marks& marks);
  void add_messages(Marks& marks);
  Positions add_gathers(Positions at);
  void add_late_gathers(Marks& marks);
  Positions add_exchange(Marks& marks, Positions at);

  const IterationPlan* plan_;
  TaskGraph graph_;
  ResourceId storage_;
  ResourceId loaders_;
  ResourceId device_;
  ResourceId copy_engine_;
  ResourceId comm_;
  std::vector<TaskId> takes_;  ///< by batch
  std::vector<TaskId> parts_;  ///< of backward, in the iteration being added
  /// By part of backward of the iteration added last: what a late part of forward waits for.
  std::vector<std::vector<TaskId>> arrivals_;
  std::optional<Staged> staged_;  ///< the next batch, if copied ahead
  std::vector<Marks> iterations_;
};

IterationGraph::IterationGraph(const IterationPlan& plan)
    : plan_(&plan),
      graph_(plan.cores),
      storage_(graph_.add(Resource{"storage", 1})),
      loaders_(graph_.add(Resource{"loader threads", 1})),
      device_(graph_.add(Resource{"device", 1})),
      copy_engine_(graph_.add(Resource{"copy engine", 1})),
      comm_(graph_.add(Resource{"communication thread", 1,
                                plan.packing ? Order::ready : Order::urgent, plan.packing,
                                plan.window, plan.choice})) {
  if (!plan.contention.empty() && plan.overlaps()) graph_.contend(device_, comm_);
}

/// By kind of message.
std::vector<Contention> IterationGraph::beside(const Given& work) const {
  std::vector<Contention> contention;
  for (const ContentionByWork& by_work : plan_->contention) {
    contention.push_back(mean_contention(work, by_work));
  }
  return contention;
}

TaskId IterationGraph::join(std::vector<TaskId> after) {
  return graph_.add(Task{Seconds(), {}, 0, std::move(after)});
}

/// The host waits, and gives nothing before.
Positions IterationGraph::wait_for(const std::vector<TaskId>& tasks, Positions at) {
  if (tasks.empty()) return at;
  std::vector<TaskId> seen = tasks;
  seen.push_back(at.host);
  const TaskId host = join(std::move(seen));
  return {host, join({at.device, host})};
}

/// The host is never behind a device that waits for what it gives, so that work which takes no
/// giving starts as soon as the device is free.
Positions IterationGraph::run(const Given& work, double cores, Positions at) {
  const TaskId alone =
      graph_.add(Task{work.device, device_, cores, {at.device}, 0, {}, beside(work)});
  if (work.host == Seconds()) return {at.host, alone};
  EXPECT(plan_->contention.empty());
  const TaskId given = graph_.add(Task{work.host, {}, 0, {at.host}});
  const TaskId together = graph_.add(Task{work.together, {}, 0, {at.host}});
  return {given, join({alone, together})};
}

/// Takes the next batch `after` all these, once it is read, and copies it if that is done ahead. It
/// may be read once a place in the queue is free: when the batch `prefetch` before was taken.
Staged IterationGraph::stage(std::vector<TaskId> after) {
  std::vector<TaskId> slot;
  const std::size_t ahead_by = queue_length(*plan_);
  if (takes_.size() >= ahead_by) slot.push_back(takes_[takes_.size() - ahead_by]);
  Staged staged;
  staged.load =
      graph_.add(Task{plan_->load, loaders_, plan_->loader_threads * plan_->loader_cores, slot});
  after.push_back(staged.load);
  after.push_back(graph_.add(Task{plan_->storage, storage_, 0, slot}));
  staged.take = join(std::move(after));
  if (ahead()) staged.copied = graph_.add(Task{plan_->h2d.device, copy_engine_, 0, {staged.take}});
  takes_.push_back(staged.take);
  return staged;
}

/// Until the device has the batch.
Positions IterationGraph::add_input(Marks& marks) {
  std::vector<TaskId> begin;
  if (!iterations_.empty()) begin.push_back(iterations_.back().end);
  if (!ahead()) staged_ = stage(begin);
  if (!staged_) staged_ = stage({});
  marks.load = staged_->load;
  marks.take = staged_->take;
  if (!ahead()) return run(plan_->h2d, plan_->copy_cores, {marks.take, marks.take});
  const TaskId host = join(begin);
  begin.push_back(staged_->copied);
  return run(Given::step(plan_->h2d.host, Seconds()), 0, {host, join(begin)});
}

Positions IterationGraph::add_backward(Marks& marks, Positions at) {
  parts_.clear();
  for (const BackwardPart& part : plan_->backward) {
    at = run(part.compute, plan_->compute_cores, at);
    parts_.push_back(at.device);
  }
  marks.backward = at.device;
  return at;
}

/// The host takes the next batch once it has given backward.
Positions IterationGraph::add_staging(Marks& marks, Positions at) {
  marks.staged = marks.backward;
  if (!ahead()) return at;
  staged_ = stage({at.host, marks.h2d});
  marks.staged = join({marks.backward, staged_->take});
  return {staged_->take, marks.staged};
}

/// Each late part once what it waits for is there.
Positions IterationGraph::add_forward(Marks& marks, Positions at) {
  at = run(plan_->forward, plan_->compute_cores, at);
  for (const ForwardPart& part : plan_->late) {
    if (!iterations_.empty()) {
      const TaskId before = at.device;
      at = wait_for(arrivals_.at(part.awaits), at);
      marks.waits.push_back({before, at.device});
    }
    const TaskId arrived = at.device;
    at = run(part.update, plan_->compute_cores, at);
    marks.updates.push_back({arrived, at.device});
    at = run(part.compute, plan_->compute_cores, at);
  }
  marks.forward = at.device;
  return at;
}

/// Of pieces that wait, one of the part of backward that ran last is the most urgent, for its layer
/// is needed first.
///
/// Overlapped, each message leaves when its gradients are there; else one after the other, after
/// all else.
void IterationGraph::send(Seconds message, std::size_t part, Marks& marks) {
  const BackwardPart& what = plan_->backward[part];
  const bool overtakes = late() && !what.gather;
  const int rank = overtakes ? -static_cast<int>(part) : 0;
  const TaskId last = marks.messages.empty() ? marks.staged : marks.messages.back();
  const TaskId sent = graph_.add(Task{message,
                                      sequential() ? device_ : comm_,
                                      plan_->comm_cores,
                                      {sequential() ? last : parts_[part]},
                                      rank,
                                      what.size,
                                      {},
                                      what.kind,
                                      plan_->meeting_before(marks.messages.size())});
  arrivals_[part].push_back(sent);
  marks.messages.push_back(sent);
}

void IterationGraph::add_messages(Marks& marks) {
  arrivals_.assign(parts_.size(), {});
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const BackwardPart& part = plan_->backward[i];
    if (!part.message) continue;
    send(*part.message, i, marks);
    for (const Seconds piece : part.pieces) send(piece, i, marks);
  }
}

/// By the host, once the device has updated.
Positions IterationGraph::add_gathers(Positions at) {
  if (late() || !plan_->gathers()) return at;
  TaskId last = join({at.host, at.device});
  std::size_t sent = 0;
  for (const BackwardPart& part : plan_->backward) {
    if (!part.gather) continue;
    last = graph_.add(Task{*part.gather,
                           device_,
                           plan_->comm_cores,
                           {last},
                           0,
                           {},
                           {},
                           0,
                           plan_->meeting_before_gather(sent++)});
  }
  return {last, last};
}

void IterationGraph::add_late_gathers(Marks& marks) {
  if (!late()) return;
  const TaskId through = join(marks.messages);
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const BackwardPart& part = plan_->backward[i];
    if (!part.gather) continue;
    arrivals_[i] = {graph_.add(Task{*part.gather,
                                    comm_,
                                    plan_->comm_cores,
                                    {through},
                                    0,
                                    {},
                                    {},
                                    part.gather_kind,
                                    plan_->meeting_before_gather(i)})};
    marks.messages.push_back(arrivals_[i].front());
  }
}

/// Up to where the update may start.
Positions IterationGraph::add_exchange(Marks& marks, Positions at) {
  add_messages(marks);
  add_late_gathers(marks);
  if (!late()) at = wait_for(marks.messages, at);
  marks.waited = join({marks.staged, at.host});
  return {at.host, marks.waited};
}

void IterationGraph::add_iteration() {
  Marks marks;
  Positions at = add_input(marks);
  marks.h2d = at.device;
  at = add_forward(marks, at);
  at = add_staging(marks, add_backward(marks, at));
  at = run(plan_->update, plan_->compute_cores, add_exchange(marks, at));
  marks.update = at.device;
  marks.end = add_gathers(at).device;
  iterations_.push_back(std::move(marks));
}

Seconds length(const Timeline& timeline, const std::vector<Stretch>& stretches) {
  Seconds sum;
  for (const auto& [from, to] : stretches) sum += timeline.finished(to) - timeline.finished(from);
  return sum;
}

/// What of the messages travels while the device does not wait for them. Those of one pack travel
/// as one.
Seconds hidden(const Timeline& timeline, const std::vector<TaskId>& messages,
               const std::vector<Stretch>& waits) {
  Seconds sum;
  const TaskId* before = nullptr;
  for (const TaskId& message : messages) {
    const Seconds start = timeline.started(message);
    const Seconds finish = timeline.finished(message);
    const bool rides = before != nullptr && finish > start && timeline.started(*before) == start &&
                       timeline.finished(*before) == finish;
    before = &message;
    if (rides) continue;
    sum += finish - start;
    for (const auto& [from, to] : waits) {
      const Seconds waited_from = std::max(start, timeline.finished(from));
      const Seconds waited_to = std::min(finish, timeline.finished(to));
      sum -= std::max(Seconds(), waited_to - waited_from);
    }
  }
  return sum;
}

/// The phases as the engine would time them. `next` is the iteration after, whose forward pass may
/// wait for messages of this one.
IterationTime phases(const IterationPlan& plan, const Timeline& timeline, const Marks& marks,
                     Seconds start, const Marks& next) {
  const bool ahead = plan.input_copy == InputCopy::ahead;
  IterationTime time;
  time.load = plan.loader_threads * plan.load;
  const Seconds copying = ahead ? start : timeline.finished(marks.take);
  const Seconds computed = timeline.finished(marks.backward);
  const Seconds staged = timeline.finished(marks.staged);
  const Seconds end = timeline.finished(marks.end);
  const Seconds late_waits = length(timeline, marks.waits);
  const Seconds late_updates = length(timeline, marks.updates);
  time.io = (copying - start) + (staged - computed);
  time.h2d = timeline.finished(marks.h2d) - copying;
  time.forward =
      timeline.finished(marks.forward) - timeline.finished(marks.h2d) - late_waits - late_updates;
  time.backward = computed - timeline.finished(marks.forward);
  const Seconds gathering = end - timeline.finished(marks.update);
  time.exposed_comm = timeline.finished(marks.waited) - staged + late_waits + gathering;
  time.update = end - gathering - timeline.finished(marks.waited) + late_updates;
  time.total = end - start;
  std::vector<Stretch> waits = next.waits;
  waits.push_back({marks.staged, marks.waited});
  time.hidden_comm = hidden(timeline, marks.messages, waits);
  return time;
}

constexpr Seconds IterationTime::*all_phases[] = {
    &IterationTime::io,       &IterationTime::h2d,          &IterationTime::forward,
    &IterationTime::backward, &IterationTime::exposed_comm, &IterationTime::update,
    &IterationTime::total,    &IterationTime::hidden_comm,  &IterationTime::load};

/// An iteration, and how long before its start its batch was ready.
struct Observed {
  IterationTime time;
  Seconds lead;
};

bool alike(const Observed& a, const Observed& b) {
  const auto close = [&](Seconds x, Seconds y) {
    return std::abs((x - y).si()) <= 1e-10 * b.time.total.si();
  };
  return close(a.lead, b.lead) &&
         std::all_of(std::begin(all_phases), std::end(all_phases),
                     [&](auto phase) { return close(a.time.*phase, b.time.*phase); });
}

IterationTime mean(const std::vector<Observed>& iterations) {
  IterationTime result;
  for (const auto phase : all_phases) {
    for (const Observed& iteration : iterations) result.*phase += iteration.time.*phase;
    result.*phase = (result.*phase) / static_cast<double>(iterations.size());
  }
  return result;
}

/// How early a batch is there matters only where reading it slows compute down.
Seconds lead(const IterationPlan& plan, const Timeline& timeline, const Marks& marks,
             Seconds start) {
  if (plan.most_cores_wanted() <= plan.cores) return {};
  return start - timeline.finished(marks.load);
}

/// The last `count` of `iterations`. More are simulated, whose batches the loader threads read
/// beside those observed.
std::vector<Observed> last_iterations(const IterationPlan& plan, int iterations, int count) {
  IterationGraph graph(plan);
  for (int k = 0; k <= iterations + static_cast<int>(queue_length(plan)); ++k)
    graph.add_iteration();
  const Timeline timeline = simulate(graph.graph());
  std::vector<Observed> observed;
  for (int k = iterations - count; k < iterations; ++k) {
    const auto i = static_cast<std::size_t>(k);
    const Marks& marks = graph.iterations()[i];
    const Seconds start = timeline.finished(graph.iterations()[i - 1].end);
    observed.push_back({phases(plan, timeline, marks, start, graph.iterations()[i + 1]),
                        lead(plan, timeline, marks, start)});
  }
  return observed;
}

}  // namespace

/// The first iterations differ, while the queue of batches fills or drains. Where loader threads
/// compete with compute the steady state can be a cycle of several iterations, or be reached
/// slowly: then the mean of the last 32 of 64 stands for it; and where messages are packed, because
/// looks for them come at another phase of each iteration.
IterationTime simulate_iteration(const IterationPlan& plan) {
  EXPECT(plan.loader_threads >= 1 && plan.prefetch >= 1);
  for (int iterations = plan.packing ? 64 : 8; iterations < 64; iterations *= 2) {
    const auto last = last_iterations(plan, iterations, 3);
    if (alike(last[0], last[2]) && alike(last[1], last[2])) return last.back().time;
  }
  return mean(last_iterations(plan, 64, 32));
}

}  // namespace dlscale::model
