// Time lines of predicted iterations.
#include "model/sgd_iter/iteration_trace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "model/sgd_iter/predict.hpp"

namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

class Traced : public testing::Test {
 protected:
  static TrainingRun run_by(Schedule schedule) {
    TrainingRun asked;
    asked.network = "alexnet";
    asked.cluster = "p40x16";
    asked.ranks = 16;
    asked.ranks_per_node = 4;
    asked.loader_threads = 6;
    asked.schedule = schedule;
    return asked;
  }
  [[nodiscard]] Prediction predicted(const TrainingRun& run) const {
    const int ranks[] = {run.ranks};
    return predict(network_, machine_, run, ranks).front();
  }
  static double busy(const IterationTrace& trace, TraceRow row) {
    double sum = 0;
    for (const TraceSpan& span : trace.spans) {
      if (span.row == row) sum += span.duration.si();
    }
    return sum;
  }
  static bool has(const IterationTrace& trace, TraceRow row, const std::string& name,
                  const std::string& what) {
    return std::ranges::any_of(trace.spans, [&](const TraceSpan& span) {
      return span.row == row && span.name == name && span.what == what;
    });
  }

  Network network_ = load_network("alexnet");
  Machine machine_ = nominal_machine(load_cluster("p40x16"));
};

TEST_F(Traced, RowsDoOneThingAtATimeWithinTheIterationsShown) {
  for (const Schedule schedule : all_schedules) {
    for (const InputCopy copy : {InputCopy::on_path, InputCopy::ahead}) {
      TrainingRun asked = run_by(schedule);
      asked.input_copy = copy;
      const IterationTrace trace = trace_iterations(network_, machine_, asked, 3);
      ASSERT_EQ(trace.iterations.size(), 3U);
      double all = 0;
      for (const Seconds iteration : trace.iterations) all += iteration.si();
      std::map<TraceRow, double> until;
      for (const TraceSpan& span : trace.spans) {
        EXPECT_GT(span.duration.si(), 0);
        EXPECT_GE(span.start.si(), until[span.row] - 1e-12)
            << schedule_name(schedule) << " " << trace_row_name(span.row) << " " << span.name;
        until[span.row] = (span.start + span.duration).si();
        EXPECT_LE(until[span.row], all + 1e-12);
      }
    }
  }
}

TEST_F(Traced, IterationsAndWhatTheyDoAddUpToThePrediction) {
  for (const Schedule schedule :
       {Schedule::sequential, Schedule::wait_free, Schedule::bucketed, Schedule::merged}) {
    const IterationTime time = predicted(run_by(schedule)).time;
    const IterationTrace trace = trace_iterations(network_, machine_, run_by(schedule), 2);
    for (const Seconds iteration : trace.iterations) {
      EXPECT_NEAR(iteration.si(), time.total.si(), 1e-9 * time.total.si());
    }
    // Copies of gradients and what the slowest rank computes longer are exposed communication.
    const Seconds device = time.h2d + time.forward + time.backward + time.update;
    const Seconds all = device + time.exposed_comm + time.hidden_comm;
    const double traced = busy(trace, TraceRow::device) + busy(trace, TraceRow::communication);
    EXPECT_NEAR(traced, 2 * all.si(), 1e-9 * all.si()) << schedule_name(schedule);
    EXPECT_GT(busy(trace, TraceRow::device), 2 * device.si()) << schedule_name(schedule);
  }
}

TEST_F(Traced, SpansAreNamedByLayersAndMessages) {
  const IterationTrace trace = trace_iterations(network_, machine_, run_by(Schedule::wait_free), 1);
  EXPECT_TRUE(has(trace, TraceRow::device, "conv1", "forward"));
  EXPECT_TRUE(has(trace, TraceRow::device, "conv1", "backward_filter"));
  EXPECT_TRUE(has(trace, TraceRow::device, "update", "update"));
  EXPECT_TRUE(has(trace, TraceRow::communication, "fc6", "message"));
  EXPECT_TRUE(std::ranges::any_of(
      trace.spans, [](const TraceSpan& span) { return span.row == TraceRow::loaders; }));
  Bytes sent;
  for (const TraceSpan& span : trace.spans) sent += span.bytes;
  EXPECT_NEAR(sent.si(), 4.0 * static_cast<double>(network_.parameter_count()), 1);
  const IterationTrace parts = trace_iterations(network_, machine_, run_by(Schedule::priority), 1);
  EXPECT_TRUE(std::ranges::any_of(
      parts.spans, [](const TraceSpan& span) { return span.what.starts_with("part 1 of"); }));
}

}  // namespace
}  // namespace dlscale::model
