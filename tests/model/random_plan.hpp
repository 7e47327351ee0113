#pragma once
#include <cstddef>
#include <random>

#include "model/sgd_iter/graph/iteration.hpp"

namespace dlscale::model {

/// Everything drawn at random, on a device that needs no processor core, with one message or more.
inline IterationPlan random_plan(std::mt19937& random, Schedule schedule) {
  std::uniform_real_distribution<double> time(0.01, 1);
  std::uniform_int_distribution<int> few(1, 4);
  IterationPlan plan;
  plan.schedule = schedule;
  plan.loader_threads = few(random);
  plan.prefetch = few(random);
  plan.storage = Seconds(5 * time(random));
  plan.load = Seconds(5 * time(random));
  plan.h2d = Seconds(2 * time(random));
  plan.forward = Seconds(time(random));
  plan.update = Seconds(time(random));
  plan.barrier = Seconds(0.02 * time(random));
  for (int i = few(random) * few(random); i >= 0; --i) {
    BackwardPart part{Seconds(time(random)), {}};
    if (i == 0 || random() % 4 != 0) part.message = Seconds(time(random));
    plan.backward.push_back(part);
  }
  return plan;
}

/// With all-gathers beside the next forward pass, which waits for each.
inline IterationPlan random_gathered_plan(std::mt19937& random) {
  std::uniform_real_distribution<double> time(0.01, 1);
  IterationPlan plan = random_plan(random, Schedule::reduce_scatter_overlap);
  plan.update = Seconds();
  for (BackwardPart& part : plan.backward) {
    part.message = Seconds(time(random));
    part.gather = Seconds(time(random));
  }
  for (std::size_t i = plan.backward.size(); i-- > 0;) {
    plan.late.push_back({i, Seconds(0.1 * time(random)), Seconds(time(random))});
  }
  return plan;
}

}  // namespace dlscale::model
