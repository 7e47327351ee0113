#include "model/goodput/spares.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace dlscale::model::goodput {
namespace {

/// The chance of up to `most` in a Poisson distribution, term by term.
double chance_of_up_to(int most, double load) {
  double term = std::exp(-load);
  double sum = term;
  for (int k = 1; k <= most; ++k) {
    term *= load / k;
    sum += term;
  }
  return sum;
}

TEST(Spares, AreTheFewestThatMostFailuresFind) {
  for (const double load : {0.01, 0.3, 1.0, 5.8, 42.0, 300.0}) {
    const int spares = spares_for(load, 0.95);
    EXPECT_GE(chance_of_up_to(spares - 1, load), 0.95) << load;
    if (spares > 1) {
      EXPECT_LT(chance_of_up_to(spares - 2, load), 0.95) << load;
    }
  }
  EXPECT_EQ(spares_for(0, 0.95), 0);
  EXPECT_NEAR(spares_for(1e6, 0.95), 1e6 + 1.645 * 1e3, 10);
}

TEST(Spares, LeaveErlangsShareToWait) {
  EXPECT_DOUBLE_EQ(waiting_share(1, 0), 0.5);
  EXPECT_DOUBLE_EQ(waiting_share(1, 1), 0.2);
  EXPECT_NEAR(waiting_share(10, 9), 0.2146, 1e-4);  // ten lines, ten erlangs, by Erlang's table
  EXPECT_EQ(waiting_share(0, 3), 0);
}

TEST(Spares, NeverLetTheJobWaitLongerIfThereAreMore) {
  for (const double load : {0.1, 3.0, 200.0}) {
    for (int spares = 0; spares < 50; ++spares) {
      EXPECT_LE(waiting_share(load, spares + 1), waiting_share(load, spares));
      EXPECT_LE(waiting_share(load, spares), waiting_share(2 * load, spares));
    }
  }
}

}  // namespace
}  // namespace dlscale::model::goodput
