// Predictions of runs under each schedule, of a machine whose parameters are known.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/merge.hpp"
#include "core/network/network.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/layer_times.hpp"
#include "model/sgd_iter/predict.hpp"
#include "tests/model/expect_iteration.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/two_ranks.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

class Schedules : public TwoRanks {
 protected:
  [[nodiscard]] IterationPlan plan(Schedule schedule) {
    run_.schedule = schedule;
    return iteration_costs(network_, machine_, run_, notes_).plan({}, Bound::value);
  }
  /// Every message takes 10 ms and 1 ns a byte.
  void make_start_up_dear() {
    const Segment segment{Bytes(4),
                          Bytes(1e9),
                          Estimate<Seconds>::exact(Seconds(10e-3)),
                          Estimate<SecondsPerByte>::exact(SecondsPerByte(1e-9)),
                          0,
                          3};
    for (CollectiveFit& fit : machine_.collectives) fit.cost = Piecewise({segment});
  }
  [[nodiscard]] Bytes parameters() const {
    return Bytes(4 * static_cast<double>(network_.parameter_count()));
  }

  Notes notes_;
};

TEST_F(Schedules, EqualTheirClosedFormsWhereTheyHaveOne) {
  for (const Schedule schedule : all_schedules) {
    for (const int ranks : {1, 2, 8}) {
      run_.ranks = ranks;
      const Prediction p = one(schedule);
      expect_phases_add_up(p.time);
      if (schedule == Schedule::priority && ranks > 1) {
        EXPECT_FALSE(p.closed_form);
        continue;
      }
      ASSERT_TRUE(p.closed_form) << schedule_name(schedule) << p.closed_form_absent;
      EXPECT_NEAR(p.closed_form->total.si(), p.time.total.si(), 1e-10 * p.time.total.si())
          << schedule_name(schedule) << ranks;
    }
  }
}

TEST_F(Schedules, OfOneRankExchangeNothing) {
  run_.ranks = 1;
  const IterationTime expected = one(Schedule::wait_free).time;
  for (const Schedule schedule : all_schedules) {
    const IterationTime time = one(schedule).time;
    EXPECT_EQ(time.total.si(), expected.total.si()) << schedule_name(schedule);
    EXPECT_EQ(time.exposed_comm.si(), 0);
    EXPECT_EQ(time.hidden_comm.si(), 0);
  }
}

TEST_F(Schedules, TakeNoMoreMergedThanLayerByLayerOrAtOnce) {
  make_start_up_dear();
  const Prediction merged = one(Schedule::merged);
  const double single = one(Schedule::wait_free).time.total.si();
  EXPECT_LE(merged.time.total.si(), one(Schedule::merged_greedy).time.total.si() * (1 + 1e-12));
  EXPECT_LE(merged.time.total.si(), single * (1 + 1e-12));
  IterationPlan at_once = plan(Schedule::wait_free);
  for (BackwardPart& part : at_once.backward) part.message.reset();
  at_once.backward.back().message = Seconds(10e-3 + 1e-9 * parameters().si());
  EXPECT_LE(merged.time.total.si(), simulate_iteration(at_once).total.si() * (1 + 1e-12));
  EXPECT_LT(merged.time.total.si(), 0.999 * single);  // so that something was merged
}

TEST_F(Schedules, MergeByTheRulesOfTheEngine) {
  make_start_up_dear();
  // As the engine would: when backward is done with each gradient, and the line of their messages.
  std::vector<ReadyGradient> gradients;
  Seconds computed;
  for (const BackwardPart& part : plan(Schedule::wait_free).backward) {
    computed += part.compute.device;
    if (part.message) gradients.push_back({computed, part.size});
  }
  const LinearCost cost{Seconds(10e-3), SecondsPerByte(1e-9)};
  for (const Schedule schedule : {Schedule::merged, Schedule::merged_greedy}) {
    std::vector<Bytes> expected;
    auto next = gradients.begin();
    for (const std::size_t count : merge_for(schedule, gradients, cost)) {
      Bytes size;
      for (std::size_t i = 0; i < count; ++i) size += (next++)->bytes;
      expected.push_back(size);
    }
    std::vector<Bytes> found;
    for (const BackwardPart& part : plan(schedule).backward) {
      if (part.message) found.push_back(part.size);
    }
    EXPECT_EQ(found, expected) << schedule_name(schedule);
    EXPECT_LT(found.size(), gradients.size());
  }
}

TEST_F(Schedules, SayWhatTheyPlanned) {
  make_start_up_dear();
  const Prediction merged = one(Schedule::merged);
  EXPECT_TRUE(mentions(merged, "merged: messages merged") &&
              mentions(merged, "4 gradients in "))
      << all(merged.notes);
  EXPECT_TRUE(mentions(merged, "10.00 ms and 1 ns a byte")) << all(merged.notes);
  run_.settings.partition = Bytes(400);
  const Prediction priority = one(Schedule::priority);
  EXPECT_TRUE(mentions(priority, "priority: 4 gradients in ")) << all(priority.notes);
  EXPECT_TRUE(mentions(priority, "parts of at most 400 B")) << all(priority.notes);
}

TEST_F(Schedules, PackByTheSettings) {
  run_.settings.cycle = Seconds(2e-3);
  run_.settings.fusion_threshold = Bytes(12345);
  const IterationPlan packed = plan(Schedule::horovod);
  ASSERT_TRUE(packed.packing);
  EXPECT_EQ(packed.packing->cycle.si(), 2e-3);
  EXPECT_EQ(packed.packing->threshold.si(), 12345);
  EXPECT_NEAR(packed.packing->vote.si(), all_reduce_seconds(8), 1e-9);
  EXPECT_NEAR(packed.packing->time(Bytes(1e6)).si(), all_reduce_seconds(1e6), 1e-9);
  EXPECT_EQ(packed.packing->cores, 1);
  EXPECT_FALSE(plan(Schedule::wait_free).packing);
}

TEST_F(Schedules, WaitForLooksUnderHorovod) {
  run_.settings.cycle = Seconds(1);
  run_.settings.fusion_threshold = Bytes(1e9);
  const Prediction p = one(Schedule::horovod);
  // All of an iteration is there long before the next look, so one comes a second.
  EXPECT_NEAR(p.time.total.si(), 1, 0.02);
  run_.settings.cycle = Seconds(1e-9);
  run_.settings.fusion_threshold = Bytes();
  // A message waits for the vote that is under way at most, and for its own.
  const double votes = 2 * 4 * all_reduce_seconds(8);
  const double wait_free = one(Schedule::wait_free).time.total.si();
  const double looking = one(Schedule::horovod).time.total.si();
  EXPECT_GT(looking, wait_free);
  EXPECT_LT(looking, wait_free + votes);
}

TEST_F(Schedules, PushAndPullUnderAParameterServer) {
  run_.synchronisation = Synchronisation::parameter_server;
  const Prediction all_servers = one(Schedule::sequential);
  const double smallest = all_reduce_seconds(4);
  double once = 0;
  std::vector<Bytes> sizes;
  for (const Bucket& bucket : gradient_buckets(network_, Schedule::sequential)) {
    const double bytes = 4 * static_cast<double>(bucket.elements);
    once += smallest / 2 + (all_reduce_seconds(bytes) - smallest);
    sizes.emplace_back(bytes);
  }
  EXPECT_NEAR(all_servers.time.exposed_comm.si(), 2 * once, 1e-6 * once);
  const auto owners = shard_owners(sizes, 2);
  double first = 0;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (owners[i] == 0) first += sizes[i].si();
  }
  const double most = std::max(first, parameters().si() - first);
  EXPECT_NEAR(all_servers.time.update.si(), update_seconds(most), 1e-6 * update_seconds(most));
  run_.settings.servers = 1;
  const Prediction one_server = one(Schedule::sequential);
  EXPECT_NEAR(one_server.time.update.si(), update_seconds(parameters().si()),
              1e-6 * one_server.time.update.si());
  EXPECT_TRUE(mentions(one_server, "reduce was not measured")) << all(one_server.notes);
  EXPECT_TRUE(mentions(one_server, "broadcast was not measured")) << all(one_server.notes);
  // The pushes of wait_free overlap with backward, the pulls never do.
  const Prediction overlapped = one(Schedule::wait_free);
  EXPECT_LT(overlapped.time.exposed_comm.si(), 2 * once);
  EXPECT_GE(overlapped.time.exposed_comm.si(), once);
  ASSERT_TRUE(overlapped.closed_form);
  EXPECT_NEAR(overlapped.closed_form->total.si(), overlapped.time.total.si(),
              1e-12 * overlapped.time.total.si());
}

TEST_F(Schedules, SendTensorsApartWhereServersOwnThem) {
  run_.synchronisation = Synchronisation::parameter_server;
  const double smallest = all_reduce_seconds(4);
  const auto half = [&](double bytes) {
    return smallest / 2 + (all_reduce_seconds(bytes) - smallest);
  };
  // 216 + 8 of conv1, 576 of conv2a, 8 + 8 of norm2a, 20480 + 10 of fc.
  double once = 0;
  for (const double elements : {216, 8, 576, 8, 8, 20480, 10}) once += half(4 * elements);
  for (const Sharding sharding :
       {Sharding::mxnet, Sharding::tensorflow, Sharding::tensorflow_greedy}) {
    run_.settings.sharding = sharding;
    const Prediction sequential = one(Schedule::sequential);
    EXPECT_NEAR(sequential.time.exposed_comm.si(), 2 * once, 1e-6 * once);
    EXPECT_TRUE(mentions(sequential, std::string(sharding_name(sharding))))
        << all(sequential.notes);
    for (const Schedule schedule : {Schedule::sequential, Schedule::wait_free}) {
      for (const int ranks : {2, 3, 8}) {
        run_.ranks = ranks;
        const Prediction p = one(schedule);
        expect_phases_add_up(p.time);
        ASSERT_TRUE(p.closed_form) << p.closed_form_absent;
        EXPECT_NEAR(p.closed_form->total.si(), p.time.total.si(), 1e-10 * p.time.total.si());
      }
      run_.ranks = 2;
    }
    EXPECT_THROW(one(Schedule::bucketed), ConfigError);
  }
  // In turn on two: conv1's weights, conv2a's, norm2a's shift and fc's bias on the first.
  run_.settings.sharding = Sharding::tensorflow;
  const double second = 4.0 * (8 + 8 + 20480);
  EXPECT_NEAR(one(Schedule::sequential).time.update.si(), update_seconds(second),
              1e-6 * update_seconds(second));
}

TEST_F(Schedules, CountServersOnlyWhereThereAreRanksForThem) {
  run_.synchronisation = Synchronisation::parameter_server;
  run_.settings.servers = 3;
  EXPECT_THROW(one(Schedule::wait_free), ConfigError);
  run_.ranks = 4;
  EXPECT_GT(one(Schedule::wait_free).speedup, 0);  // over one rank, which has no servers
}

TEST_F(Schedules, LetForwardWaitLayerByLayer) {
  const IterationPlan whole = plan(Schedule::wait_free);
  for (const Schedule schedule : {Schedule::reduce_scatter_overlap, Schedule::priority}) {
    const IterationPlan late = plan(schedule);
    // Small enough for one bucket; a message a layer else: conv1, conv2a, norm2a and fc.
    const bool bucketed = schedule == Schedule::reduce_scatter_overlap;
    ASSERT_EQ(late.late.size(), bucketed ? 1U : 4U);
    Seconds forward = late.forward.device;
    for (const ForwardPart& part : late.late) {
      EXPECT_TRUE(late.backward.at(part.awaits).message);
      EXPECT_GT(part.update.device, Seconds());
      forward += part.compute.device;
    }
    EXPECT_NEAR(forward.si(), whole.forward.device.si(), 1e-12 * forward.si());
    EXPECT_EQ(late.update.device.si(), 0);
    EXPECT_EQ(late.forward.device.si(), 0);  // the first layer has parameters
    EXPECT_TRUE(std::ranges::is_sorted(late.late, std::greater<>(), &ForwardPart::awaits));
  }
}

TEST_F(Schedules, HalveAnAllReduceWhereForwardWaitsForItsSecondHalf) {
  const IterationPlan late = plan(Schedule::reduce_scatter_overlap);
  const double rest = 4 * static_cast<double>(network_.parameter_count() % 2);
  const double whole = all_reduce_seconds(parameters().si() - rest);
  for (const BackwardPart& part : late.backward) {
    if (!part.message) continue;
    EXPECT_NEAR(part.message->si(), whole / 2 + (rest > 0 ? all_reduce_seconds(rest) : 0), 1e-9);
    ASSERT_TRUE(part.gather);
    EXPECT_NEAR(part.gather->si(), whole / 2, 1e-9);
  }
  EXPECT_TRUE(mentions(one(Schedule::reduce_scatter_overlap), "half an all-reduce"));
}

TEST_F(Schedules, AddUpByItselfWhatIsNoEqualBlocks) {
  const Schedule schedule = Schedule::reduce_scatter_overlap;
  std::int64_t rests = 0;
  for (const int ranks : {2, 3, 5, 7}) {
    run_.ranks = run_.ranks_per_node = ranks;
    const Placement place{ranks, ranks};
    const MessageTimes all_reduce(machine_, place, schedule, notes_);
    const auto times = [&](collective::Collective collective) {
      return CollectiveTimes(machine_, place, collective, schedule, all_reduce, notes_);
    };
    const std::int64_t rest = network_.parameter_count() % ranks;
    const Bytes whole = parameters() - Bytes(4 * static_cast<double>(rest));
    Seconds message = times(collective::Collective::reduce_scatter).time(whole).value;
    if (rest > 0) message += all_reduce.time(Bytes(4 * static_cast<double>(rest))).value;
    const Seconds gather = times(collective::Collective::all_gather).time(whole).value;
    for (const BackwardPart& part : plan(schedule).backward) {
      if (!part.message) continue;
      EXPECT_NEAR(part.message->si(), message.si(), 1e-12) << ranks;
      EXPECT_NEAR(part.gather.value().si(), gather.si(), 1e-12) << ranks;
    }
    rests += rest;
  }
  EXPECT_GT(rests, 0);
}

TEST_F(Schedules, CutGradientsIntoPartsAndVoteWhichIsNext) {
  run_.settings.partition = Bytes(400);
  run_.settings.credit = 7;
  const IterationPlan cut = plan(Schedule::priority);
  EXPECT_EQ(cut.window, 7);
  EXPECT_NEAR(cut.choice.si(), all_reduce_seconds(8), 1e-9);
  EXPECT_EQ(plan(Schedule::horovod).choice.si(), 0);
  for (const BackwardPart& part : cut.backward) {
    if (!part.message) continue;
    const auto parts = static_cast<std::size_t>(std::ceil(part.size.si() / 400));
    EXPECT_EQ(part.pieces.size() + 1, parts);
    const double first = std::min(400.0, part.size.si());
    EXPECT_NEAR(part.message->si(), all_reduce_seconds(first), 1e-9);
  }
}

TEST_F(Schedules, GiveEachLayerItsShareOfMessages) {
  for (const Schedule schedule : all_schedules) {
    run_.schedule = schedule;
    double communication = 0;
    for (const LayerTime& layer : layer_times(network_, machine_, run_).layers) {
      EXPECT_EQ(layer.communication > Seconds(), layer.gradient > Bytes());
      communication += layer.communication.si();
    }
    double expected = 0;
    for (const BackwardPart& part : plan(schedule).backward) {
      if (part.message) expected += part.message->si();
      if (part.gather) expected += part.gather->si();
      for (const Seconds piece : part.pieces) expected += piece.si();
    }
    EXPECT_NEAR(communication, expected, 1e-12 * expected) << schedule_name(schedule);
  }
}

TEST_F(Schedules, HaveAnIntervalThatHoldsTheValue) {
  for (const Schedule schedule : all_schedules) {
    const Prediction p = one(schedule);
    ASSERT_TRUE(p.low && p.high);
    EXPECT_LE(p.low->si(), p.time.total.si());
    EXPECT_GE(p.high->si(), p.time.total.si());
  }
}

TEST_F(Schedules, HoldOnOneCoreToo) {
  machine_.cluster.host.cores = 2;
  run_.cores_per_rank = 1;
  run_.loader_threads = 1;
  for (const Schedule schedule : all_schedules) {
    const Prediction p = one(schedule);
    expect_phases_add_up(p.time);
    EXPECT_FALSE(p.closed_form);
  }
}

TEST(NominalSchedules, HoldOnClustersOfGpus) {
  const int ranks[] = {1, 16};
  TrainingRun run;
  run.batch = 32;
  run.ranks_per_node = 4;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  run.loader_threads = 6;
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  for (const char* name : {"alexnet", "resnet50"}) {
    const Network network = load_network(name);
    run.network = name;
    for (const Schedule schedule : all_schedules) {
      run.schedule = schedule;
      const auto predictions = predict(network, machine, run, ranks);
      const IterationTime& time = predictions.back().time;
      expect_phases_add_up(time);
      const Seconds compute = time.forward + time.backward + time.update;
      // Exposed communication holds waits for the slowest and copies, beside which messages travel.
      EXPECT_GE(time.total.si(), std::max(compute, time.hidden_comm).si() * (1 - 1e-9));
      EXPECT_GE(time.hidden_comm.si(), -1e-12);
    }
  }
}

}  // namespace
}  // namespace dlscale::model
