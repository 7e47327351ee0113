#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>

#include "core/base/error.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/sgd_iter/messages/message_time.hpp"

namespace dlscale::model {
namespace {

template <class Q>
Q at(const Estimate<Q>& estimate, Bound bound) {
  switch (bound) {
    case Bound::value:
      return estimate.value;
    case Bound::low:
      return estimate.low;
    case Bound::high:
      return estimate.high;
  }
  fail_expectation("bound is a Bound");
}

/// Each term at its bound.
struct Choice {
  TermBounds bounds;
  double slowest = 1;  ///< factor on computing
  double added = 1;    ///< factor on messages
  template <class Q>
  [[nodiscard]] Q of(const Estimate<Q>& estimate, IterationTerm term) const {
    return at(estimate, bounds.at(static_cast<std::size_t>(term)));
  }
  [[nodiscard]] LaunchedWork of(const StepCost& step, IterationTerm term) const {
    const double factor = term == IterationTerm::copy ? 1 : slowest;
    return LaunchedWork::step(of(step.give, IterationTerm::launches),
                              factor * of(step.compute, term), step.kind);
  }
  [[nodiscard]] LaunchedWork of(std::span<const StepCost> steps) const {
    LaunchedWork all;
    for (const StepCost& step : steps) all = all.then(of(step, IterationTerm::compute));
    return all;
  }
};

void add_forward(const IterationCosts& costs, const Choice& chosen, IterationPlan& plan) {
  const std::span<const StepCost> steps(costs.forward);
  const std::size_t first = costs.late.empty() ? steps.size() : costs.late.front().step;
  plan.forward = chosen.of(steps.first(first));
  for (std::size_t i = 0; i < costs.late.size(); ++i) {
    const LateCost& late = costs.late[i];
    const std::size_t end = i + 1 < costs.late.size() ? costs.late[i + 1].step : steps.size();
    plan.late.push_back({late.part, chosen.of(late.update, IterationTerm::update),
                         chosen.of(steps.subspan(late.step, end - late.step))});
  }
}

BackwardPart backward_part(std::span<const StepCost> steps,
                           const std::optional<MessageCost>& message, const Choice& chosen) {
  BackwardPart part{chosen.of(steps), {}};
  if (!message) return part;
  const auto of = [&](const Estimate<Seconds>& time) {
    return chosen.added * chosen.of(time, IterationTerm::communication);
  };
  part.message = of(message->time);
  part.size = message->size;
  for (const Estimate<Seconds>& piece : message->pieces) part.pieces.push_back(of(piece));
  if (message->gather) part.gather = of(*message->gather);
  return part;
}

/// Adds contention; all pieces of a message count as the first.
void add_contention(const IterationCosts& costs, const Choice& chosen, IterationPlan& plan) {
  for (const auto& estimates : costs.contention.kinds) {
    ContentionByWork& by_work = plan.contention.emplace_back();
    for (std::size_t i = 0; i < work_kinds; ++i) {
      by_work[i] = {chosen.of(estimates[i].compute, IterationTerm::contention),
                    chosen.of(estimates[i].messages, IterationTerm::contention)};
    }
  }
  for (std::size_t i = 0; i < costs.message.size(); ++i) {
    if (!costs.message[i]) continue;
    const Bytes whole = costs.message[i]->size;
    const bool in_pieces = !costs.message[i]->pieces.empty();
    plan.backward[i].kind =
        costs.contention.message.of(in_pieces ? costs.settings.partition : whole);
    plan.backward[i].gather_kind = costs.contention.gather.of(whole);
  }
}

void stretch_work(double factor, LaunchedWork& work) {
  work.device = factor * work.device;
  work.host = factor * work.host;
  work.together = factor * work.together;
  for (Seconds& part : work.of_kind) part = factor * part;
}

void stretch_packing(double factor, Packing& packing) {
  packing.cycle = factor * packing.cycle;
  packing.vote = factor * packing.vote;
  packing.barrier = factor * packing.barrier;
  packing.time = [time = packing.time, factor](Bytes pack) { return factor * time(pack); };
}

void stretch_backward(double factor, BackwardPart& part) {
  stretch_work(factor, part.compute);
  if (part.message) part.message = factor * *part.message;
  for (Seconds& piece : part.pieces) piece = factor * piece;
  if (part.gather) part.gather = factor * *part.gather;
}

/// Multiplies all times of the plan.
void stretch_plan(double factor, IterationPlan& plan) {
  for (Seconds* time : {&plan.storage, &plan.load, &plan.choice, &plan.barrier, &plan.meeting}) {
    *time = factor * *time;
  }
  if (plan.shared_storage) {
    plan.shared_storage->server = plan.shared_storage->server / factor;
    plan.shared_storage->node = plan.shared_storage->node / factor;
  }
  for (LaunchedWork* work : {&plan.h2d, &plan.forward, &plan.update}) stretch_work(factor, *work);
  for (ForwardPart& part : plan.late) {
    stretch_work(factor, part.update);
    stretch_work(factor, part.compute);
  }
  for (BackwardPart& part : plan.backward) stretch_backward(factor, part);
  if (plan.packing) stretch_packing(factor, *plan.packing);
  if (plan.running) {
    plan.running->others = factor * plan.running->others;
    plan.running->last = factor * plan.running->last;
  }
}

}  // namespace

IterationPlan IterationCosts::plan(const TermBounds& bounds) const {
  IterationPlan result = shape;
  result.slowest = 1 + added * delays.waiting;
  result.meeting = added * delays.meeting + unexplained;
  const Choice chosen{bounds, computing * result.slowest, added};
  result.load = chosen.of(load, IterationTerm::input);
  result.h2d = chosen.of(h2d, IterationTerm::copy);
  result.update = chosen.of(update, IterationTerm::update);
  result.choice = chosen.of(choice, IterationTerm::communication);
  result.barrier = chosen.of(barrier, IterationTerm::communication);
  add_forward(*this, chosen, result);
  for (std::size_t i = 0; i < backward.size(); ++i) {
    result.backward.push_back(backward_part(backward[i], message[i], chosen));
  }
  if (running) {
    result.running = {added * running->others, added * running->last, running->kind};
  }
  add_contention(*this, chosen, result);
  if (packed != nullptr) {
    const auto time = [times = packed, chosen](Bytes pack) {
      return chosen.added * chosen.of(times->time(pack), IterationTerm::communication);
    };
    const auto messages = static_cast<std::size_t>(
        std::ranges::count_if(message, [](const auto& one) { return one.has_value(); }));
    const auto kind = [kinds = contention.message](Bytes pack) { return kinds.of(pack); };
    result.packing = Packing{settings.cycle,
                             settings.fusion_threshold,
                             vote > Seconds() ? vote : time(vote_size),
                             shape.comm_cores,
                             time,
                             messages,
                             kind,
                             kind(vote_size),
                             result.barrier};
  }
  if (stretch != 1) stretch_plan(stretch, result);
  return result;
}

}  // namespace dlscale::model
