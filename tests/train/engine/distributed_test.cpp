// Run alone this is one rank; under mpirun the ranks are processes.
#include <gtest/gtest.h>

#include "backend/comm/communicator.hpp"
#include "tests/train/engine/worker.hpp"

namespace dlscale::train {
namespace {

TEST(Trainer, OnProcessesComputesTheGradientsOfOneRankWithTheWholeBatch) {
  const auto world = family<backend::CommBackend>().find(backend::launched_backend())->connect();
  const Network network = chain_network();
  const auto alone = backend::local_group(1);
  Worker whole(network, *alone.front(), 4 * world->size(), with(Schedule::wait_free));
  for (int i = 0; i < 2; ++i) whole.trainer->iterate();
  const Gradients expected = whole.mean_gradients();
  for (const Schedule schedule : schedules) {
    Worker part(network, *world, 4, with(schedule));
    for (int i = 0; i < 2; ++i) part.trainer->iterate();
    const Gradients gradients = part.mean_gradients();
    ASSERT_EQ(gradients.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_LT(relative_difference(gradients[i], expected[i]), 1e-5)
          << schedule_name(schedule) << ", tensor " << i << ", rank " << world->rank();
    }
  }
}

}  // namespace
}  // namespace dlscale::train
