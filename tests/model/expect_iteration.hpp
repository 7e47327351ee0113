#pragma once
#include <gtest/gtest.h>

#include <string>

#include "model/sgd_iter/graph/iteration.hpp"
#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {

/// The phases are disjoint and fill the iteration, and none is negative; to rounding.
inline void expect_phases_add_up(const IterationTime& t) {
  const double tolerance = 1e-12 * t.total.si();
  const Seconds sum = t.io + t.h2d + t.forward + t.backward + t.exposed_comm + t.update;
  EXPECT_NEAR(sum.si(), t.total.si(), tolerance);
  for (const Seconds phase :
       {t.io, t.h2d, t.forward, t.backward, t.exposed_comm, t.update, t.hidden_comm}) {
    EXPECT_GE(phase.si(), -tolerance);
  }
}

/// Every phase is the same to a fraction `relative` of the iteration.
inline void expect_equal(const IterationTime& a, const IterationTime& b, double relative = 1e-12) {
  const double tolerance = relative * b.total.si();
  EXPECT_NEAR(a.total.si(), b.total.si(), tolerance);
  EXPECT_NEAR(a.io.si(), b.io.si(), tolerance);
  EXPECT_NEAR(a.h2d.si(), b.h2d.si(), tolerance);
  EXPECT_NEAR(a.forward.si(), b.forward.si(), tolerance);
  EXPECT_NEAR(a.backward.si(), b.backward.si(), tolerance);
  EXPECT_NEAR(a.exposed_comm.si(), b.exposed_comm.si(), tolerance);
  EXPECT_NEAR(a.hidden_comm.si(), b.hidden_comm.si(), tolerance);
  EXPECT_NEAR(a.update.si(), b.update.si(), tolerance);
  EXPECT_NEAR(a.load.si(), b.load.si(), tolerance);
}

/// There is a closed form, and an iteration takes as long by it as by the simulation.
inline void expect_closed_form(const IterationPlan& plan, double relative = 1e-12) {
  std::string why;
  const auto expected = closed_form(plan, why);
  ASSERT_TRUE(expected) << why;
  const IterationTime simulated = simulate_iteration(plan);
  expect_equal(simulated, *expected, relative);
  expect_phases_add_up(simulated);
}

/// There is none, for a reason that `part` is of.
inline void expect_no_closed_form(const IterationPlan& plan, const std::string& part) {
  std::string why;
  EXPECT_FALSE(closed_form(plan, why));
  EXPECT_NE(why.find(part), std::string::npos) << why;
}

}  // namespace dlscale::model
