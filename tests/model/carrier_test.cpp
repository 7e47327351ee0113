#include "model/communication/carrier.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Link;

constexpr Link link{Seconds(10e-6), SecondsPerByte(0.5e-9), SecondsPerByte(0.1e-9)};
constexpr double bytes = 1e6;

double seconds(const LinkTerms& terms) {
  const double alpha = terms.alpha_intra + terms.alpha_inter;
  const double beta = terms.beta_intra + terms.beta_inter;
  return alpha * link.alpha.si() + bytes * (beta * link.beta.si() + terms.gamma * link.gamma.si());
}

/// Some closed forms are upper bounds; ranks are then predicted by what the schedule takes.
TEST(Carrier, HasTheTermsOfTheScheduleOfEveryAllReduceOfOneLevel) {
  int bounds = 0;
  for (const Algorithm* algorithm : collective::algorithms_of(Collective::all_reduce)) {
    if (algorithm->traits.two_levels) continue;
    bounds += algorithm->inexact.empty() ? 0 : 1;
    const std::string name(algorithm->name);
    for (int p = 2; p <= 17; ++p) {
      for (const int segments : {1, 8}) {
        const Carrier carrier{"all_reduce", ChosenBy::caller, name, segments};
        const auto terms = carrier.terms({p, p}, Bytes(bytes));
        if (!terms) continue;
        const auto schedule = algorithm->schedule({.p = p, .segments = segments});
        const double simulated = collective::time(schedule, link, Bytes(bytes)).si();
        EXPECT_NEAR(seconds(*terms) / simulated, 1, 1e-9) << name << " " << p << " " << segments;
      }
    }
  }
  EXPECT_EQ(bounds, 1);
}

TEST(Carrier, HasNoTermsOfServersThatAreRanksToo) {
  for (const int p : {2, 3, 8}) {
    const Carrier carrier{"all_reduce", ChosenBy::caller, "parameter_server", 1};
    EXPECT_FALSE(carrier.terms({p, p}, Bytes(bytes)).has_value());
  }
}

}  // namespace
}  // namespace dlscale::model
