// What meetings of ranks before messages are taken to cost.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/network.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/sgd_iter/predict.hpp"
#include "tests/model/expect_iteration.hpp"
#include "tests/model/notes_of.hpp"
#include "tests/model/two_ranks.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

constexpr const char* meeting_predict_not_measured =
    "barrier before messages: counted as zero";

Segment meeting_predict_line(double from, double to, double start, double per_byte) {
  return {Bytes(from),
          Bytes(to),
          Estimate<Seconds>::exact(Seconds(start)),
          Estimate<SecondsPerByte>::exact(SecondsPerByte(per_byte)),
          0,
          3};
}

/// 10 µs and 1 ns a byte from 512 B on, `smallest` below.
Piecewise cost(double smallest) {
  return Piecewise(
      {meeting_predict_line(4, 512, smallest, 0), meeting_predict_line(512, 1e9, 1e-5, 1e-9)});
}

CollectiveFit fit(const std::string& collective, const std::string& waiting, double smallest) {
  CollectiveFit one;
  one.collective = collective;
  one.waiting = waiting;
  one.cost = cost(smallest);
  return one;
}

/// Messages are measured of ranks that met asleep.
class MeetingsPredicted : public TwoRanks {
 protected:
  MeetingsPredicted() { machine_.collectives = {fit("all_reduce", "sleep", 0)}; }
  void measure_spinning(double smallest) {
    machine_.collectives.resize(1);
    machine_.collectives.push_back(fit("all_reduce", "spin", smallest));
  }
  IterationPlan plan(Schedule schedule) {
    run_.schedule = schedule;
    return iteration_costs(network_, machine_, run_, notes_).plan({}, Bound::value);
  }
  [[nodiscard]] double barrier(int ranks) {
    return barrier_time(machine_, {ranks, ranks}, notes_).value.si();
  }

  Notes notes_;
};

TEST_F(MeetingsPredicted, TakeAsLongAsTheSmallestAllReduceOfRanksThatSpin) {
  machine_.collectives = {fit("all_reduce", "sleep", 50e-6), fit("all_reduce", "spin", 30e-6)};
  EXPECT_NEAR(barrier(2), 30e-6, 1e-12);
  EXPECT_EQ(barrier(1), 0);
}

TEST_F(MeetingsPredicted, AreRoundsOfTheSmallestMessagesWhereThatWasNotMeasured) {
  machine_.collectives.push_back(fit("sendrecv", "sleep", 99e-6));
  EXPECT_EQ(barrier(2), 0);
  machine_.collectives.push_back(fit("sendrecv", "spin", 20e-6));
  EXPECT_NEAR(barrier(2), 20e-6, 1e-12);
  EXPECT_NEAR(barrier(5), 60e-6, 1e-12);
  machine_.collectives.push_back(fit("all_reduce", "spin", 30e-6));
  EXPECT_NEAR(barrier(2), 30e-6, 1e-12);
}

TEST_F(MeetingsPredicted, AreSaidToCostNothingWhereNothingWasMeasured) {
  EXPECT_TRUE(mentions(one(Schedule::wait_free), meeting_predict_not_measured));
  EXPECT_EQ(plan(Schedule::wait_free).barrier.si(), 0);
  measure_spinning(30e-6);
  EXPECT_FALSE(mentions(one(Schedule::wait_free), meeting_predict_not_measured));
  EXPECT_TRUE(mentions(one(Schedule::wait_free), "barrier before messages: as long as"));
  run_.ranks = 1;
  EXPECT_FALSE(mentions(one(Schedule::wait_free), "barrier before"));
}

TEST_F(MeetingsPredicted, CostNothingOnDataSheets) {
  Notes notes;
  const Machine nominal = nominal_machine(load_cluster("p40x16"));
  EXPECT_EQ(barrier_time(nominal, {16, 4}, notes).value.si(), 0);
  EXPECT_TRUE(notes.all().empty());
}

TEST_F(MeetingsPredicted, AreThereWhereTheEngineMeets) {
  measure_spinning(30e-6);
  for (const Schedule schedule : all_schedules) {
    const bool chooses = schedule == Schedule::priority;
    EXPECT_NEAR(plan(schedule).barrier.si(), chooses ? 0 : 30e-6, 1e-12) << schedule_name(schedule);
  }
  EXPECT_NEAR(plan(Schedule::horovod).packing.value().barrier.si(), 30e-6, 1e-12);
}

TEST_F(MeetingsPredicted, ThatCostNothingChangeNothing) {
  for (const Schedule schedule : all_schedules) {
    machine_.collectives.resize(1);
    const Prediction expected = one(schedule);
    measure_spinning(0);
    expect_equal(one(schedule).time, expected.time);
  }
}

TEST_F(MeetingsPredicted, EqualTheirClosedForms) {
  measure_spinning(2e-3);
  for (const auto synchronisation : all_synchronisations) {
    run_.synchronisation = synchronisation;
    for (const Schedule schedule : all_schedules) {
      const bool served = synchronisation == Synchronisation::parameter_server;
      if (schedule == Schedule::priority || (served && !goes_with_server(schedule))) continue;
      const Prediction p = one(schedule);
      expect_phases_add_up(p.time);
      ASSERT_TRUE(p.closed_form) << schedule_name(schedule) << p.closed_form_absent;
      EXPECT_NEAR(p.closed_form->total.si(), p.time.total.si(), 1e-10 * p.time.total.si())
          << schedule_name(schedule);
    }
  }
}

TEST_F(MeetingsPredicted, ShowOnceAfterBackwardAndOnceBeforeAServerAnswers) {
  for (const auto& [synchronisation, times] : {std::pair(Synchronisation::all_reduce, 1),
                                               std::pair(Synchronisation::parameter_server, 2)}) {
    run_.synchronisation = synchronisation;
    measure_spinning(0);
    IterationPlan sequential = plan(Schedule::sequential);
    const double before = simulate_iteration(sequential).exposed_comm.si();
    sequential.barrier = Seconds(1e-3);
    EXPECT_NEAR(simulate_iteration(sequential).exposed_comm.si(), before + times * 1e-3, 1e-9);
  }
}

TEST_F(MeetingsPredicted, AreWithinTheInterval) {
  measure_spinning(2e-3);
  Segment uncertain = meeting_predict_line(4, 512, 2e-3, 0);
  uncertain.alpha.low = Seconds(1e-3);
  uncertain.alpha.high = Seconds(4e-3);
  const Prediction certain = one(Schedule::wait_free);
  machine_.collectives.back().cost =
      Piecewise({uncertain, meeting_predict_line(512, 1e9, 1e-5, 1e-9)});
  const Prediction p = one(Schedule::wait_free);
  EXPECT_EQ(p.time.total.si(), certain.time.total.si());
  EXPECT_LT(p.low->si(), certain.low->si());
  EXPECT_GT(p.high->si(), certain.high->si());
}

}  // namespace
}  // namespace dlscale::model
