// Predictions of runs whose computing and messages are known to slow each other down.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/network/step.hpp"
#include "model/sgd_iter/costs/contention_costs.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/predict.hpp"
#include "tests/model/expect_iteration.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/two_ranks.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

Estimate<double> around(double value) {
  return {value, 1 + 0.9 * (value - 1), 1 + 1.2 * (value - 1)};
}

/// Of all sizes alike, on 2 ranks of a node.
ContentionFit contention(WorkKind work, double compute, double messages, int cores = 8) {
  ContentionFit fit;
  fit.collective = "all_reduce";
  fit.work = work;
  fit.cores_per_rank = cores;
  fit.ranges = {{Bytes(4), Bytes(1e8), around(compute), around(messages), 5}};
  fit.source = "beside.jsonl";
  return fit;
}

class ContentionPredicted : public TwoRanks {
 protected:
  /// All kinds of work alike.
  void measure(double compute, double messages, int cores = 8) {
    machine_.contention.clear();
    for (const WorkKind work : all_work_kinds) {
      machine_.contention.push_back(contention(work, compute, messages, cores));
    }
  }
  /// Each rank and its messages on one core.
  void share_one_core() {
    machine_.cluster.host.cores = 2;
    run_.cores_per_rank = 1;
    run_.loader_threads = 1;
  }
  void expect_same_times(const Prediction& a, const Prediction& b, double relative) const {
    expect_equal(a.time, b.time, relative);
  }
};

TEST_F(ContentionPredicted, IsSaidNotToHaveBeenMeasured) {
  const Prediction p = one();
  EXPECT_TRUE(mentions(p, NoteKind::contention_not_measured)) << all(p.notes);
  EXPECT_TRUE(p.contention.empty());
  share_one_core();
  EXPECT_TRUE(mentions(one(), "only shared cores are counted")) << all(one().notes);
}

TEST_F(ContentionPredicted, ConcernsNeitherOneRankNorMessagesAfterBackward) {
  run_.schedule = Schedule::sequential;
  const Prediction expected = one();
  EXPECT_FALSE(mentions(expected, NoteKind::contention_not_measured));
  measure(3, 2);
  const Prediction sequential = one();
  EXPECT_EQ(sequential.time.total, expected.time.total);
  EXPECT_TRUE(sequential.contention.empty());
  run_.schedule = Schedule::wait_free;
  run_.ranks = 1;
  EXPECT_TRUE(one().contention.empty());
  EXPECT_TRUE(one().notes.empty()) << all(one().notes);
}

TEST_F(ContentionPredicted, WithoutSlowDownIsWhatItWas) {
  for (const Schedule schedule : all_schedules) {
    run_.schedule = schedule;
    machine_.contention.clear();
    const Prediction expected = one();
    measure(1, 1);
    expect_same_times(one(), expected, 1e-9);
  }
}

TEST_F(ContentionPredicted, IsByTheClosedFormOfItsFactors) {
  measure(2.5, 1.75);
  const Prediction p = one();
  expect_phases_add_up(p.time);
  ASSERT_TRUE(p.closed_form) << p.closed_form_absent;
  expect_equal(p.time, *p.closed_form, 1e-9);
  Notes notes;
  std::vector<ContendedPart> parts;
  for (const BackwardPart& part :
       iteration_costs(network_, machine_, run_, notes).plan({}, Bound::value).backward) {
    parts.push_back({part.compute.device, part.message.value_or(Seconds()), 0, {{2.5, 1.75}}});
  }
  const ContendedBackward expected = contended_backward(parts);
  EXPECT_NEAR(p.time.backward.si(), expected.backward.si(), 1e-9 * p.time.total.si());
  EXPECT_NEAR(p.time.exposed_comm.si(), expected.exposed.si(), 1e-9 * p.time.total.si());
  EXPECT_NEAR(p.time.hidden_comm.si(), expected.hidden.si(), 1e-9 * p.time.total.si());
}

TEST_F(ContentionPredicted, SaysWhatItUsed) {
  measure(2.5, 1.75);
  const Prediction p = one();
  EXPECT_TRUE(mentions(p, "factors measured beside all_reduce: conv 2.5 and 1.75, gemm 2.5"))
      << all(p.notes);
  EXPECT_FALSE(mentions(p, NoteKind::contention_not_measured));
  ASSERT_EQ(p.contention.size(), work_kinds);
  EXPECT_EQ(p.contention.front().collective, "all_reduce");
  EXPECT_EQ(p.contention.front().range.compute.value, 2.5);
  EXPECT_EQ(p.contention.front().source, "beside.jsonl");
}

TEST_F(ContentionPredicted, LengthensAnIterationUnderEverySchedule) {
  for (const Schedule schedule : all_schedules) {
    if (schedule == Schedule::sequential) continue;
    run_.schedule = schedule;
    machine_.contention.clear();
    double before = one().time.total.si();
    for (const double slowdown : {1.5, 3.0, 20.0}) {
      measure(slowdown, slowdown);
      const Prediction p = one();
      expect_phases_add_up(p.time);
      EXPECT_GE(p.time.total.si(), before * (1 - 1e-9)) << schedule_name(schedule);
      before = p.time.total.si();
    }
  }
}

TEST_F(ContentionPredicted, WidensTheInterval) {
  measure(2.5, 1.75);
  const Prediction uncertain = one();
  for (ContentionFit& fit : machine_.contention) {
    fit.ranges[0].compute = Estimate<double>::exact(2.5);
    fit.ranges[0].messages = Estimate<double>::exact(1.75);
  }
  const Prediction certain = one();
  EXPECT_EQ(uncertain.time.total, certain.time.total);
  EXPECT_LT(uncertain.low->si(), certain.low->si());
  EXPECT_GT(uncertain.high->si(), certain.high->si());
}

TEST_F(ContentionPredicted, OfAFairlySharedCoreCountsItOnce) {
  share_one_core();
  const Prediction expected = one();
  measure(2, 2, 1);
  const Prediction p = one();
  EXPECT_FALSE(p.contention.empty());
  // The loader shares with both: to them as much is left as before.
  expect_same_times(p, expected, 1e-6);
  measure(1.2, 1.2, 1);  // a thread that sends and sleeps while messages are copied
  EXPECT_LT(one().time.total.si(), expected.time.total.si());
}

TEST_F(ContentionPredicted, IsNotTakenFromRanksWithOtherCores) {
  measure(2, 2, 1);  // where both shared one core
  const Prediction p = one();
  EXPECT_TRUE(p.contention.empty());
  EXPECT_TRUE(mentions(p, NoteKind::contention_measured_elsewhere)) << all(p.notes);
  share_one_core();
  measure(2, 2, 8);  // where messages had one of their own
  EXPECT_TRUE(one().contention.empty());
}

TEST_F(ContentionPredicted, IsNotTakenFromOtherLayoutsOrThreads) {
  measure(2, 2);
  run_.ranks = 4;
  run_.ranks_per_node = 4;
  EXPECT_TRUE(one().contention.empty());
  run_.ranks_per_node = 2;  // two nodes
  EXPECT_TRUE(one().contention.empty());
  run_.ranks = 2;
  EXPECT_FALSE(one().contention.empty());
  for (ContentionFit& fit : machine_.contention) {
    if (fit.work != WorkKind::copy) fit.threads = 3;
  }
  run_.compute_threads = 2;
  for (KernelTime& kernel : machine_.kernels) kernel.threads = 2;
  const Prediction p = one();
  ASSERT_EQ(p.contention.size(), work_kinds);  // copies stand for all
  EXPECT_TRUE(mentions(p,
                       "all_reduce with conv on this many ranks waiting by sleep was not measured: "
                       "that of all_reduce with memcpy"))
      << all(p.notes);
}

TEST_F(ContentionPredicted, OverNodesIsThatOfTheNearestNumberOfThem) {
  for (const int ranks : {4, 16}) {
    for (const WorkKind work : all_work_kinds) {
      machine_.contention.push_back(contention(work, ranks == 4 ? 1.5 : 3.5, 2));
      machine_.contention.back().ranks = ranks;
    }
  }
  run_.ranks = 8 * 2;
  EXPECT_EQ(one().contention.front().range.compute.value, 3.5);
  EXPECT_FALSE(mentions(one(), "that of all_reduce with conv"));
  run_.ranks = 6;
  EXPECT_EQ(one().contention.front().range.compute.value, 1.5);
  EXPECT_TRUE(mentions(one(), "that of all_reduce with conv on 4 ranks")) << all(one().notes);
  machine_.inter_node_stated = true;
  machine_.cluster.inter_node.bandwidth = 1.25_GBps;
  EXPECT_TRUE(one().contention.empty());
}

TEST_F(ContentionPredicted, TakesTheCollectiveOfTheScheduleOrSaysWhichOther) {
  measure(2, 2);
  run_.schedule = Schedule::reduce_scatter_overlap;
  const Prediction p = one();
  EXPECT_TRUE(mentions(p, "contention of reduce_scatter with conv")) << all(p.notes);
  EXPECT_TRUE(mentions(p, "contention of all_gather with conv")) << all(p.notes);
  for (const char* collective : {"reduce_scatter", "all_gather"}) {
    for (const WorkKind work : all_work_kinds) {
      machine_.contention.push_back(contention(work, 4, 3));
      machine_.contention.back().collective = collective;
    }
  }
  const Prediction measured = one();
  EXPECT_FALSE(mentions(measured, NoteKind::contention_other_waiting)) << all(measured.notes);
  ASSERT_EQ(measured.contention.size(), 2 * work_kinds);
  for (const UsedContention& used : measured.contention) {
    EXPECT_EQ(used.range.compute.value, 4);
    EXPECT_NE(used.collective, "all_reduce");
  }
}

TEST_F(ContentionPredicted, DependsOnTheSizeOfMessagesWhereItWasFoundTo) {
  measure(3, 2);
  const ContentionRange small{Bytes(4), Bytes(1000), around(1.5), around(1.25), 4};
  const ContentionRange large{Bytes(1000), Bytes(1e8), around(3), around(2), 4};
  machine_.contention[index_of(WorkKind::conv)].ranges = {small, large};
  Notes notes;
  const ContentionCosts costs = contention_costs(machine_, run_, {8, 1}, notes);
  ASSERT_EQ(costs.kinds.size(), 2U);
  EXPECT_EQ(costs.message.of(Bytes(4)), 0U);
  EXPECT_EQ(costs.message.of(Bytes(999)), 0U);
  EXPECT_EQ(costs.message.of(Bytes(1000)), 1U);
  EXPECT_EQ(costs.message.of(Bytes(1e12)), 1U);
  EXPECT_EQ(costs.kinds[0][index_of(WorkKind::conv)].compute.value, 1.5);
  EXPECT_EQ(costs.kinds[1][index_of(WorkKind::conv)].compute.value, 3);
  EXPECT_EQ(costs.kinds[0][index_of(WorkKind::gemm)].compute.value, 3);
  EXPECT_TRUE(mentions(one(), "beside all_reduce below 1000 B: conv 1.5 and 1.25"))
      << all(one().notes);
  const IterationPlan plan =
      iteration_costs(network_, machine_, run_, notes).plan({}, Bound::value);
  for (const BackwardPart& part : plan.backward) {
    if (!part.message) continue;
    EXPECT_EQ(part.kind, part.size < Bytes(1000) ? 0U : 1U);
  }
  ASSERT_TRUE(one().closed_form);
  expect_equal(one().time, *one().closed_form, 1e-9);
}

TEST_F(ContentionPredicted, KnowsWhatAStepAsksFor) {
  int convolutions = 0;
  for (const Step step : backward_steps(network_)) {
    const Layer& layer = network_.layer(step.layer);
    const WorkKind kind = work_kind(network_, step);
    if (layer.name == "fc") {
      EXPECT_EQ(kind, WorkKind::gemm);
    }
    if (layer.name == "norm2a" || layer.name == "relu1") {
      EXPECT_EQ(kind, WorkKind::copy);
    }
    if (step.pass == Pass::backward_filter && layer.name != "fc") {
      EXPECT_EQ(kind, WorkKind::conv);
      ++convolutions;
    }
  }
  EXPECT_EQ(convolutions, 2);
  Notes notes;
  const IterationPlan plan =
      iteration_costs(network_, machine_, run_, notes).plan({}, Bound::value);
  EXPECT_EQ(plan.update.of_kind[index_of(WorkKind::copy)], plan.update.device);
  EXPECT_GT(plan.forward.of_kind[index_of(WorkKind::conv)], Seconds());
  Seconds sum;
  for (const Seconds part : plan.forward.of_kind) sum += part;
  EXPECT_NEAR(sum.si(), plan.forward.device.si(), 1e-12 * sum.si());
}

}  // namespace
}  // namespace dlscale::model
