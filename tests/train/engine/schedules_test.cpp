// What sets the schedules of gradient exchange apart, and that they come to the same parameters.
#include <gtest/gtest.h>

#include <array>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <tuple>
#include <vector>

#include "core/network/merge.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "tests/train/engine/worker.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {
namespace {

/// Its only gradient is that of one fully connected layer, of an odd number of elements.
Network single_layer_network() {
  return {"single",
          {1, 3, 3},
          {{"fc", FullyConnected{.outputs = 3, .bias = false}, {"input"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc"}}}};
}

/// The parameters of every rank after six iterations.
std::vector<std::vector<float>> train(const Network& network, int ranks,
                                      const TrainOptions& options) {
  std::vector<std::vector<float>> parameters(static_cast<std::size_t>(ranks));
  on_ranks(ranks, [&](backend::Communicator& communicator) {
    Worker worker(network, communicator, 2, options);
    for (int i = 0; i < 6; ++i) worker.trainer->iterate();
    worker.trainer->settle();
    const auto all = worker.program.all_parameters();
    parameters[static_cast<std::size_t>(communicator.rank())].assign(all.begin(), all.end());
  });
  return parameters;
}

/// Options that make several messages of the small networks here.
TrainOptions small(Schedule schedule) {
  TrainOptions options = with(schedule);
  options.settings.cycle = 0.1_ms;
  options.settings.fusion_threshold = 600_B;
  options.settings.partition = 20_B;
  options.settings.credit = 3;
  return options;
}

TEST(Schedules, ComeToTheSameParametersBitForBit) {
  for (const Network& network : {chain_network(), branched_network(), single_layer_network()}) {
    for (const int ranks : {1, 2, 3, 4}) {
      const auto expected = train(network, ranks, with(Schedule::sequential));
      for (const Schedule schedule : all_schedules) {
        EXPECT_EQ(train(network, ranks, small(schedule)), expected)
            << network.name() << ", " << ranks << " ranks, " << schedule_name(schedule);
      }
    }
  }
}

TEST(Schedules, ComeToTheSameParametersByWayOfServers) {
  for (const Network& network : {branched_network(), single_layer_network()}) {
    for (const int ranks : {1, 2, 3}) {
      const auto expected = train(network, ranks, with(Schedule::wait_free));
      for (const Schedule schedule : all_schedules) {
        if (!goes_with_server(schedule)) continue;
        for (int servers = 0; servers <= ranks; ++servers) {
          TrainOptions options = with(schedule);
          options.synchronisation = Synchronisation::parameter_server;
          options.settings.servers = servers;
          EXPECT_EQ(train(network, ranks, options), expected)
              << ranks << " ranks, " << servers << " servers, " << schedule_name(schedule);
        }
      }
    }
  }
}

TEST(Schedules, ThatOverlapTheNextForwardCutItIntoPhasesThatAddUp) {
  for (const Schedule schedule : {Schedule::reduce_scatter_overlap, Schedule::priority}) {
    on_ranks(2, [&](backend::Communicator& communicator) {
      Worker worker(branched_network(), communicator, 3, small(schedule));
      for (int i = 0; i < 5; ++i) {
        const IterationRecord r = worker.trainer->iterate();
        const Seconds sum =
            r.io + r.h2d + r.forward + r.backward + r.exposed_comm + r.update + r.other;
        EXPECT_NEAR(sum.si(), r.total.si(), 0.01 * r.total.si());
        for (const Seconds phase : {r.forward, r.backward, r.hidden_comm, r.other}) {
          EXPECT_GE(phase, Seconds(0));
        }
        // The first forward has nothing to wait for; each other waits, and updates, once a message.
        EXPECT_EQ(r.exposed_comm > Seconds(0), i > 0) << schedule_name(schedule);
        EXPECT_EQ(r.update > Seconds(0), i > 0) << schedule_name(schedule);
      }
    });
  }
}

TEST(Schedules, OnOneRankUpdateAfterBackward) {
  for (const Schedule schedule : all_schedules) {
    on_ranks(1, [&](backend::Communicator& communicator) {
      Worker worker(chain_network(), communicator, 2, with(schedule));
      const IterationRecord r = worker.trainer->iterate();
      EXPECT_GT(r.update, Seconds(0)) << schedule_name(schedule);
      EXPECT_EQ(r.hidden_comm, Seconds(0)) << schedule_name(schedule);
      EXPECT_FALSE(worker.trainer->merge_plan().has_value());
      EXPECT_EQ(settling_iterations(schedule, 1), 0);
    });
  }
}

/// Communication spans of the last of so many iterations, and of what settles it.
std::vector<Span> messages_of(Worker& worker, int iterations) {
  for (int i = 0; i < iterations; ++i) {
    std::ignore = worker.trainer->take_spans();
    worker.trainer->iterate();
  }
  std::vector<Span> messages;
  for (const Span& span : worker.trainer->take_spans()) {
    if (span.lane == Span::Lane::comm) messages.push_back(span);
  }
  return messages;
}

TEST(Schedules, ThatMergeSettleOnOnePlanOfAllRanks) {
  const Network network = branched_network();
  const std::size_t layers = gradient_buckets(network, Schedule::merged).size();
  for (const Schedule schedule : {Schedule::merged_greedy, Schedule::merged}) {
    std::mutex mutex;
    std::vector<MergePlan> plans;
    on_ranks(3, [&](backend::Communicator& communicator) {
      TrainOptions options = with(schedule);
      options.record_spans = true;
      Worker worker(network, communicator, 2, options);
      const int settling = settling_iterations(schedule, communicator.size());
      EXPECT_EQ(messages_of(worker, settling - 1).size(), layers);
      EXPECT_FALSE(worker.trainer->merge_plan().has_value());
      const std::vector<Span> merged = messages_of(worker, 1);
      ASSERT_TRUE(worker.trainer->merge_plan().has_value());
      const MergePlan& plan = *worker.trainer->merge_plan();
      EXPECT_EQ(merged.size(), plan.groups.size());
      EXPECT_EQ(worker.trainer->message_sizes().size(), plan.groups.size());
      EXPECT_EQ(std::accumulate(plan.groups.begin(), plan.groups.end(), std::size_t{0}), layers);
      EXPECT_GE(plan.cost.a, Seconds(0));
      EXPECT_GE(plan.cost.b, SecondsPerByte(0));
      const std::lock_guard lock(mutex);
      plans.push_back(plan);
    });
    ASSERT_EQ(plans.size(), 3U);
    for (const MergePlan& plan : plans) {
      EXPECT_EQ(plan.groups, plans.front().groups);
      EXPECT_EQ(plan.cost, plans.front().cost);
    }
  }
}

TEST(Schedules, ThatMergeTakeAPlanThatIsGiven) {
  const Network network = chain_network();
  on_ranks(2, [&](backend::Communicator& communicator) {
    TrainOptions options = with(Schedule::merged);
    options.record_spans = true;
    options.groups = {1, 2};
    Worker worker(network, communicator, 2, options);
    const std::vector<Span> messages = messages_of(worker, 1);
    ASSERT_EQ(messages.size(), 2U);
    EXPECT_EQ(messages[0].name, "fc");
    EXPECT_EQ(messages[1].name, "conv2 … conv1 (2 layers)");
    EXPECT_EQ(messages[1].bytes, worker.trainer->message_sizes()[1].si());
    EXPECT_FALSE(worker.trainer->merge_plan().has_value());
  });
}

TEST(Schedules, SayByWhichCollectiveEachMessageTravelled) {
  const Network network = chain_network();
  const std::size_t layers = gradient_buckets(network, Schedule::wait_free).size();
  const auto count = [&](const TrainOptions& settings, const char* what) {
    std::size_t found = 0;
    on_ranks(2, [&](backend::Communicator& communicator) {
      TrainOptions options = settings;
      options.record_spans = true;
      Worker worker(network, communicator, 2, options);
      worker.trainer->iterate();
      worker.trainer->settle();
      worker.trainer->iterate();  // takes what settled
      std::size_t mine = 0;
      double bytes = 0;
      for (const Span& span : worker.trainer->take_spans()) {
        mine += span.lane == Span::Lane::comm && span.what == what ? 1U : 0U;
        bytes += span.bytes;
      }
      EXPECT_GT(bytes, 0);
      if (communicator.rank() == 0) found = mine;
    });
    return found;
  };
  TrainOptions server = with(Schedule::wait_free);
  server.synchronisation = Synchronisation::parameter_server;
  EXPECT_EQ(count(server, "reduce"), 2 * layers);
  EXPECT_EQ(count(server, "broadcast"), 2 * layers);
  EXPECT_EQ(count(server, "all_reduce"), 0U);
  // Those of the second iteration may still be under way.
  EXPECT_GE(count(with(Schedule::reduce_scatter_overlap), "reduce_scatter"), 1U);
  EXPECT_GE(count(with(Schedule::reduce_scatter_overlap), "all_gather"), 1U);
  EXPECT_GE(count(small(Schedule::priority), "all_reduce"), 3 * layers);
}

TEST(Schedules, CannotTellAGradientBeforeItIsIn) {
  on_ranks(2, [](backend::Communicator& communicator) {
    Worker worker(chain_network(), communicator, 2, with(Schedule::reduce_scatter_overlap));
    worker.trainer->settle();  // nothing yet
    worker.trainer->iterate();
    const LayerId first(1);
    EXPECT_THROW((void)worker.trainer->mean_gradient(first), std::logic_error);
    worker.trainer->settle();
    EXPECT_NO_THROW((void)worker.trainer->mean_gradient(first));
  });
}

}  // namespace
}  // namespace dlscale::train
