#include "model/sgd_iter/graph/iteration_graph.hpp"

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {

std::size_t queue_length(const IterationPlan& plan) {
  return static_cast<std::size_t>(std::min(plan.prefetch, 4));
}

namespace {

/// Whether some messages may travel before others that became ready earlier.
bool overtakes(const IterationPlan& plan) {
  const auto urgent = [](const BackwardPart& part) { return part.message && !part.gather; };
  return !plan.late.empty() && std::ranges::any_of(plan.backward, urgent);
}

}  // namespace

IterationGraph::IterationGraph(const IterationPlan& plan)
    : plan_(&plan),
      graph_(plan.cores),
      storage_(graph_.add(Resource{"storage", 1})),
      loaders_(graph_.add(Resource{"loader threads", 1})),
      device_(graph_.add(Resource{"device", 1})),
      copy_engine_(graph_.add(Resource{"copy engine", 1})),
      comm_(graph_.add(Resource{"communication thread", 1,
                                overtakes(plan) && !plan.packing ? Order::urgent : Order::ready,
                                plan.packing, plan.window, plan.choice})) {
  if (!plan.contention.empty() && plan.overlaps()) graph_.contend(device_, comm_);
}

/// Slow-downs of the work, by kind of message.
std::vector<Contention> IterationGraph::beside(const LaunchedWork& work) const {
  std::vector<Contention> contention;
  for (const ContentionByWork& by_work : plan_->contention) {
    contention.push_back(mean_contention(work, by_work));
  }
  return contention;
}

TaskId IterationGraph::add(Task task, Part part) {
  of_part_.push_back(part);
  return graph_.add(std::move(task));
}

TaskId IterationGraph::join(std::vector<TaskId> after) {
  return add(Task{Seconds(), {}, 0, std::move(after)}, Part::own);
}

/// Makes the host wait; it launches nothing before.
IterationGraph::Positions IterationGraph::wait_for(const std::vector<TaskId>& tasks, Positions at) {
  if (tasks.empty()) return at;
  std::vector<TaskId> seen = tasks;
  seen.push_back(at.host);
  const TaskId host = join(std::move(seen));
  return {host, join({at.device, host})};
}

/// The host is never behind a device that waits for its launches, so work without launch time
/// starts as soon as the device is free.
IterationGraph::Positions IterationGraph::run(const LaunchedWork& work, double cores, Positions at,
                                              Part part) {
  const TaskId alone =
      add(Task{work.device, device_, cores, {at.device}, 0, {}, beside(work)}, part);
  if (work.host == Seconds()) return {at.host, alone};
  EXPECT(plan_->contention.empty());
  const TaskId given = add(Task{work.host, {}, 0, {at.host}}, Part::own);
  const TaskId together = add(Task{work.together, {}, 0, {at.host}}, part);
  return {given, join({alone, together})};
}

/// Takes the next batch `after` all these, once it is read, and copies it if input is ahead.
/// Reading may start once a place in the queue is free: when the batch `prefetch` before was taken.
IterationGraph::Staged IterationGraph::stage(std::vector<TaskId> after) {
  std::vector<TaskId> slot;
  const std::size_t ahead_by = queue_length(*plan_);
  if (takes_.size() >= ahead_by) slot.push_back(takes_[takes_.size() - ahead_by]);
  Staged staged;
  staged.load = add(Task{plan_->load, loaders_, plan_->loader_threads * plan_->loader_cores, slot},
                    Part::own);
  after.push_back(staged.load);
  after.push_back(add(Task{plan_->storage, storage_, 0, slot}, Part::storage));
  staged.take = join(std::move(after));
  if (ahead()) {
    staged.copied = add(Task{plan_->h2d.device, copy_engine_, 0, {staged.take}}, Part::own);
  }
  takes_.push_back(staged.take);
  return staged;
}

/// Adds the input up to where the device has the batch.
IterationGraph::Positions IterationGraph::add_input(IterationMarks& marks) {
  std::vector<TaskId> begin;
  if (!iterations_.empty()) begin.push_back(iterations_.back().end);
  if (!ahead()) staged_ = stage(begin);
  if (!staged_) staged_ = stage({});
  marks.load = staged_->load;
  marks.take = staged_->take;
  if (!ahead()) return run(plan_->h2d, plan_->copy_cores, {marks.take, marks.take}, Part::own);
  const TaskId host = join(begin);
  begin.push_back(staged_->copied);
  return run(LaunchedWork::step(plan_->h2d.host, Seconds()), 0, {host, join(begin)}, Part::own);
}

IterationGraph::Positions IterationGraph::add_backward(IterationMarks& marks, Positions at) {
  parts_.clear();
  for (const BackwardPart& part : plan_->backward) {
    at = run(part.compute, plan_->compute_cores, at);
    parts_.push_back(at.device);
  }
  marks.backward = at.device;
  return at;
}

/// Adds the taking of the next batch, after the host has launched backward.
IterationGraph::Positions IterationGraph::add_staging(IterationMarks& marks, Positions at) {
  marks.staged = marks.backward;
  if (!ahead()) return at;
  staged_ = stage({at.host, marks.h2d});
  marks.staged = join({marks.backward, staged_->take});
  return {staged_->take, marks.staged};
}

/// Adds forward; each late part starts once its message has arrived.
IterationGraph::Positions IterationGraph::add_forward(IterationMarks& marks, Positions at) {
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

/// Sends a message with its pieces. Of waiting pieces, one of the last part of backward is the most
/// urgent, because its layer is needed first.
///
/// If messages overlap, each leaves when its gradients are ready; else one after the other, after
/// all else.
void IterationGraph::send(Seconds message, std::size_t part, IterationMarks& marks) {
  const BackwardPart& what = plan_->backward[part];
  const bool urgent = late() && !what.gather;
  const int rank = urgent ? -static_cast<int>(part) : 0;
  const TaskId last = marks.messages.empty() ? marks.staged : marks.messages.back();
  const TaskId sent = add(Task{message,
                               sequential() ? device_ : comm_,
                               plan_->comm_cores,
                               {sequential() ? last : parts_[part]},
                               rank,
                               what.size,
                               {},
                               what.kind,
                               plan_->barrier_before(marks.messages.size())},
                          Part::collective);
  arrivals_[part].push_back(sent);
  marks.messages.push_back(sent);
}

void IterationGraph::add_messages(IterationMarks& marks) {
  arrivals_.assign(parts_.size(), {});
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    const BackwardPart& part = plan_->backward[i];
    if (!part.message) continue;
    send(*part.message, i, marks);
    for (const Seconds piece : part.pieces) send(piece, i, marks);
  }
}

/// Adds a running exchange: most of it from when all of the iteration before has arrived, and the
/// rest after backward.
void IterationGraph::add_running(IterationMarks& marks) {
  if (!plan_->running) return;
  const auto& [others, last, kind] = *plan_->running;
  const auto message = [&](Seconds time, std::vector<TaskId> after) {
    marks.messages.push_back(add(
        Task{time, comm_, plan_->comm_cores, std::move(after), 0, {}, {}, kind}, Part::collective));
  };
  message(others,
          iterations_.empty() ? std::vector<TaskId>() : std::vector{iterations_.back().waited});
  message(last, {marks.messages.back(), marks.backward});
}

/// Adds gathers on the host, once the device has updated.
IterationGraph::Positions IterationGraph::add_gathers(Positions at) {
  if (late() || !plan_->gathers()) return at;
  TaskId last = join({at.host, at.device});
  std::size_t sent = 0;
  for (const BackwardPart& part : plan_->backward) {
    if (!part.gather) continue;
    last = add(Task{*part.gather,
                    device_,
                    plan_->comm_cores,
                    {last},
                    0,
                    {},
                    {},
                    0,
                    plan_->barrier_before_gather(sent++)},
               Part::collective);
  }
  return {last, last};
}

void IterationGraph::add_late_gathers(IterationMarks& marks) {
  if (!late()) return;
  const TaskId through = join(marks.messages);
  for (std::size_t i = parts_.size(); i-- > 0;) {
    const BackwardPart& part = plan_->backward[i];
    if (!part.gather) continue;
    arrivals_[i] = {add(Task{*part.gather,
                             comm_,
                             plan_->comm_cores,
                             {through},
                             0,
                             {},
                             {},
                             part.gather_kind,
                             plan_->barrier_before_gather(i)},
                        Part::collective)};
    marks.messages.push_back(arrivals_[i].front());
  }
}

/// Adds messages up to where the update may start.
IterationGraph::Positions IterationGraph::add_exchange(IterationMarks& marks, Positions at) {
  add_messages(marks);
  add_running(marks);
  add_late_gathers(marks);
  if (!late()) at = wait_for(marks.messages, at);
  marks.waited = join({marks.staged, at.host});
  if (plan_->meeting > Seconds()) {
    marks.waited = add(Task{plan_->meeting, device_, 0, {marks.waited}}, Part::own);
  }
  return {at.host, marks.waited};
}

void IterationGraph::add_iteration() {
  IterationMarks marks;
  Positions at = add_input(marks);
  marks.h2d = at.device;
  at = add_forward(marks, at);
  at = add_staging(marks, add_backward(marks, at));
  at = run(plan_->update, plan_->compute_cores, add_exchange(marks, at));
  marks.update = at.device;
  marks.end = add_gathers(at).device;
  iterations_.push_back(std::move(marks));
  ends_.push_back(graph_.tasks().size());
}

namespace {

Seconds length(const Timeline& timeline, const std::vector<Stretch>& stretches) {
  Seconds sum;
  for (const auto& [from, to] : stretches) sum += timeline.finished(to) - timeline.finished(from);
  return sum;
}

/// Time of messages while the device does not wait for them. Messages of one pack count as one.
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

}  // namespace

IterationTime phases(const IterationPlan& plan, const Timeline& timeline,
                     const IterationMarks& marks, Seconds start, const IterationMarks& next) {
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

}  // namespace dlscale::model
