#include "model/plan/profile.hpp"

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

std::string why_absent(IterationPlan plan, Schedule schedule) {
  plan.schedule = schedule;
  std::string why;
  if (!closed_form(plan, why)) return why;
  if (!plan.contention.empty() && plan.overlaps()) {
    return "computing and messages slow one another down";
  }
  return "";
}

}  // namespace

Profile profile_of(const IterationPlan& plan) {
  EXPECT(!plan.packing && plan.late.empty() && !plan.gathers());
  Profile profile;
  profile.load = plan.load.si();
  profile.h2d = plan.h2d.device.si();
  profile.forward = plan.forward.device.si();
  profile.update = plan.update.device.si();
  profile.input_copy = plan.input_copy;
  for (const BackwardPart& part : plan.backward) {
    profile.backward += part.compute.device.si();
    if (!part.message) continue;
    profile.ready.push_back(profile.backward);
    profile.gradients.push_back(part.size.si());
  }
  profile.beside_absent = why_absent(plan, Schedule::wait_free);
  profile.after_absent = why_absent(plan, Schedule::sequential);
  return profile;
}

}  // namespace dlscale::model
