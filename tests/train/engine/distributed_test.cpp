// Run alone this is one rank; under mpirun the ranks are processes.
#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "backend/comm/communicator.hpp"
#include "tests/train/engine/worker.hpp"

namespace dlscale::train {
namespace {

/// All ranks. MPI can be joined only once a process.
class TrainerOnProcesses : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    world = family<backend::CommBackend>().find(backend::launched_backend())->connect();
  }
  static void TearDownTestSuite() { world.reset(); }

  static inline std::unique_ptr<backend::Communicator> world;
};

TEST_F(TrainerOnProcesses, ComputesTheGradientsOfOneRankWithTheWholeBatch) {
  const Network network = chain_network();
  const auto alone = backend::local_group(1);
  Worker whole(network, *alone.front(), 4 * world->size(), with(Schedule::wait_free));
  for (int i = 0; i < 2; ++i) whole.trainer->iterate();
  const Gradients expected = whole.mean_gradients();
  for (const Schedule schedule : all_schedules) {
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

/// The parameters after some iterations, more than a merged schedule needs to settle. Libraries may
/// add in another order for another message or collective.
TEST_F(TrainerOnProcesses, ComesToTheSameParametersUnderEverySchedule) {
  const Network network = branched_network();
  const auto trained = [&](const TrainOptions& options) {
    Worker worker(network, *world, 2, options);
    for (int i = 0; i < 6; ++i) worker.trainer->iterate();
    worker.trainer->settle();
    const auto all = worker.program.all_parameters();
    return std::vector<float>(all.begin(), all.end());
  };
  const std::vector<float> expected = trained(with(Schedule::wait_free));
  const auto compare = [&](const TrainOptions& options) {
    EXPECT_LT(relative_difference(trained(options), expected), 1e-5)
        << schedule_name(options.schedule) << ", rank " << world->rank();
  };
  for (const Schedule schedule : all_schedules) {
    TrainOptions options = with(schedule);
    options.settings.partition = 20_B;
    compare(options);
    if (!goes_with_server(schedule)) continue;
    options.synchronisation = Synchronisation::parameter_server;
    compare(options);
    options.settings.servers = 1;
    compare(options);
  }
}

}  // namespace
}  // namespace dlscale::train
