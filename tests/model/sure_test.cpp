// How sure predictions are, and of what: intervals and the sources of phases.
#include <gtest/gtest.h>

#include "core/base/units.hpp"
#include "model/sgd_iter/evidence/time_source.hpp"
#include "model/sgd_iter/predict.hpp"
#include "tests/model/two_ranks.hpp"

namespace dlscale::model {
namespace {

class Sureness : public TwoRanks {};

TEST_F(Sureness, IsToldPhaseByPhase) {
  run_.ranks = 1;
  const PhaseSources alone = one().sources;
  EXPECT_EQ(alone.load, TimeSource::measured);
  EXPECT_EQ(alone.h2d, TimeSource::fitted);
  EXPECT_EQ(alone.forward, TimeSource::measured);
  EXPECT_EQ(alone.update, TimeSource::fitted);
  EXPECT_FALSE(alone.communication);
  run_.ranks = 2;
  EXPECT_TRUE(one().sources.communication);
  run_.ranks = 4;
  run_.batch = 2 * batch;
  const PhaseSources others = one().sources;
  EXPECT_GE(others.forward, TimeSource::extrapolated);
  EXPECT_GE(others.backward, TimeSource::extrapolated);
  EXPECT_EQ(others.communication, TimeSource::extrapolated);
}

TEST_F(Sureness, DoesNotGrowWithALinkThatIsStated) {
  run_.ranks = 4;
  run_.schedule = Schedule::sequential;
  machine_.cluster.inter_node.bandwidth = BytesPerSecond(1e7);
  machine_.cluster.inter_node.latency = Seconds(1e-3);
  machine_.inter_node_stated = true;
  const Prediction p = one();
  const double messages = p.time.exposed_comm.si();
  EXPECT_LT(p.low->si(), p.time.total.si() - 0.1 * messages);   // start-ups may be less
  EXPECT_GT(p.high->si(), p.time.total.si() + 0.02 * messages);  // and transfers slower
}

}  // namespace
}  // namespace dlscale::model
