#include "model/what_if/parts.hpp"

#include <algorithm>

namespace dlscale::model {
namespace {

void drop_input(IterationPlan& plan) {
  plan.load = {};
  plan.storage = {};
}

void drop_copy(IterationPlan& plan) {
  plan.h2d = {};
}

void drop_forward(IterationPlan& plan) {
  plan.forward = {};
  for (ForwardPart& part : plan.late) part.compute = {};
}

void drop_backward(IterationPlan& plan) {
  for (BackwardPart& part : plan.backward) part.compute = {};
}

/// Sets messages, with their meetings, choices and votes, to no time.
void drop_communication(IterationPlan& plan) {
  plan.packing.reset();
  plan.choice = {};
  plan.meeting = {};
  for (BackwardPart& part : plan.backward) {
    if (part.message) part.message = Seconds();
    if (part.gather) part.gather = Seconds();
    part.pieces.clear();
  }
}

void drop_update(IterationPlan& plan) {
  plan.update = {};
  for (ForwardPart& part : plan.late) part.update = {};
}

void drop_giving(IterationPlan& plan) {
  for (Given* work : {&plan.h2d, &plan.forward, &plan.update}) *work = work->given_at_once();
  for (BackwardPart& part : plan.backward) part.compute = part.compute.given_at_once();
  for (ForwardPart& part : plan.late) {
    part.update = part.update.given_at_once();
    part.compute = part.compute.given_at_once();
  }
}

/// All work of one iteration on the device and by the host.
Given all_of(const IterationPlan& plan) {
  Given all = plan.h2d.then(plan.forward).then(plan.update);
  for (const ForwardPart& part : plan.late) all = all.then(part.update).then(part.compute);
  for (const BackwardPart& part : plan.backward) all = all.then(part.compute);
  return all;
}

Seconds forward_of(const IterationPlan& plan) {
  Seconds sum = plan.forward.device;
  for (const ForwardPart& part : plan.late) sum += part.compute.device;
  return sum;
}

Seconds backward_of(const IterationPlan& plan) {
  Seconds sum;
  for (const BackwardPart& part : plan.backward) sum += part.compute.device;
  return sum;
}

Seconds update_of(const IterationPlan& plan) {
  Seconds sum = plan.update.device;
  for (const ForwardPart& part : plan.late) sum += part.update.device;
  return sum;
}

struct NamedPart {
  const char* name;
  Seconds busy;
  void (*drop)(IterationPlan& plan);
};

}  // namespace

std::vector<PartOfIteration> parts_of(const IterationPlan& plan, const IterationTime& time) {
  const NamedPart all[] = {
      {"input", std::max(plan.load, plan.storage), drop_input},
      {"host-to-device copy", plan.h2d.device, drop_copy},
      {"kernel launches", all_of(plan).host, drop_giving},
      {"forward", forward_of(plan), drop_forward},
      {"backward", backward_of(plan), drop_backward},
      {"communication", time.exposed_comm + time.hidden_comm, drop_communication},
      {"update", update_of(plan), drop_update},
  };
  std::vector<PartOfIteration> parts;
  for (const NamedPart& part : all) {
    if (part.busy <= Seconds()) continue;
    IterationPlan without = plan;
    part.drop(without);
    parts.push_back({part.name, part.busy, simulate_iteration(without).total});
  }
  return parts;
}

}  // namespace dlscale::model
