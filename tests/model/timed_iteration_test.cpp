#include "model/sgd_iter/timed_iteration.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/timed_layers.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/topology/topology.hpp"
#include "report/prediction/note_text.hpp"
#include "tests/core/support.hpp"
#include "tests/model/independent_forms.hpp"

namespace dlscale::model {
namespace {

using test::config_error;
using test::expect_contains;

constexpr std::array schedules{Schedule::sequential,    Schedule::wait_free, Schedule::bucketed,
                               Schedule::merged_greedy, Schedule::merged,    Schedule::horovod};

TimedLayers some_layers(std::mt19937& random) {
  std::uniform_real_distribution<double> share(0, 1);
  TimedLayers timed{"some", {}, Seconds(1e-3), Seconds(5e-4), Seconds(2e-3), {}};
  const int count = std::uniform_int_distribution(1, 30)(random);
  for (int i = 0; i < count; ++i) {
    const double size = i == 0 || share(random) < 0.7 ? 1 + 5e6 * share(random) : 0;
    timed.layers.push_back({"layer", Seconds(1e-3 * share(random)),
                            Seconds(1e-5 + 2e-3 * share(random)), Bytes(size)});
  }
  return timed;
}

Run on(int ranks, Schedule schedule) {
  Run run;
  run.network = "some";
  run.ranks = ranks;
  run.batch = 32;
  run.schedule = schedule;
  return run;
}

/// On 2 and 4 ranks, on a line.
std::vector<TimedMessage> on_a_line() {
  std::vector<TimedMessage> messages;
  for (const int ranks : {2, 4}) {
    for (const double size : {1e3, 1e5, 1e6}) {
      messages.push_back({ranks, Bytes(size), Seconds(1e-4 * ranks + 1e-9 * size)});
    }
  }
  return messages;
}

TEST(TimedIterations, AreAsTheClosedFormsOfTheirSchedulesSay) {
  std::mt19937 random(7);
  const auto messages = on_a_line();
  for (int round = 0; round < 12; ++round) {
    const TimedLayers timed = some_layers(random);
    const LinearCost cost{4e-4_s, SecondsPerByte(1e-9)};
    std::vector<Seconds> backward;
    std::vector<Seconds> comm;
    Seconds all;
    for (auto layer = timed.layers.rbegin(); layer != timed.layers.rend(); ++layer) {
      backward.push_back(layer->backward);
      comm.push_back(layer->gradient > Bytes() ? cost(layer->gradient) : Seconds());
      all += comm.back();
    }
    const Seconds rest = timed.h2d + timed.forward() + timed.backward() + timed.update;
    const auto predicted = [&](Schedule schedule, std::optional<Bytes> bucket = {}) {
      const Prediction said = predict_timed(timed, {messages}, on(4, schedule), bucket, {});
      if (said.closed_form) {
        EXPECT_NEAR(said.closed_form->total / said.time.total, 1, 1e-9);
      }
      return said.time.total;
    };
    EXPECT_NEAR((rest + all) / predicted(Schedule::sequential), 1, 1e-9);
    const Seconds wait_free = rest + wait_free_recurrence(backward, comm).exposed;
    EXPECT_NEAR(wait_free / predicted(Schedule::wait_free), 1, 1e-9);
    EXPECT_LE(predicted(Schedule::merged), predicted(Schedule::merged_greedy) * (1 + 1e-9));
    EXPECT_LE(predicted(Schedule::merged_greedy), wait_free * (1 + 1e-9));
    // A bucket that all fit in leaves after backward, in one message.
    Bytes gradients;
    for (const TimedLayer& layer : timed.layers) gradients += layer.gradient;
    const Seconds one = predicted(Schedule::bucketed, gradients);
    EXPECT_NEAR((rest + cost(gradients)) / one, 1, 1e-9);
    // And one that none fits in is a message a layer.
    EXPECT_NEAR(wait_free / predicted(Schedule::bucketed, Bytes(1)), 1, 1e-9);
  }
}

TEST(TimedIterations, OfOneRankAreTheLayersAlone) {
  std::mt19937 random(8);
  const TimedLayers timed = some_layers(random);
  const auto messages = on_a_line();
  for (const Schedule schedule : schedules) {
    const Prediction alone = predict_timed(timed, {messages}, on(1, schedule), {}, {});
    EXPECT_NEAR(alone.time.total.si(),
                (timed.h2d + timed.forward() + timed.backward() + timed.update).si(), 1e-12);
    EXPECT_DOUBLE_EQ(alone.speedup, 1);
    EXPECT_DOUBLE_EQ(alone.images_per_s, 32 / alone.time.total.si());
  }
}

TEST(TimedIterations, HaveAnIntervalOfTheirMessagesAndOfWhatSuchPredictionsWereOffBy) {
  std::mt19937 random(12);
  const TimedLayers timed = some_layers(random);
  std::vector<TimedMessage> messages = on_a_line();
  const dlscale::Run run = on(4, Schedule::sequential);
  const auto predicted = [&] { return predict_timed(timed, {messages}, run, {}, {}); };
  const Prediction on_line = predicted();
  EXPECT_NEAR(*on_line.high / on_line.time.total, 1.088, 1e-9);  // [results/published/README.md]
  EXPECT_NEAR(*on_line.low / on_line.time.total, 0.912, 1e-9);
  EXPECT_NEAR(*on_line.speedup_low / on_line.speedup, 1 / 1.088, 1e-9);  // over measured layers
  EXPECT_NEAR(*on_line.speedup_high / on_line.speedup, 1 / 0.912, 1e-9);
  EXPECT_EQ(on_line.sources.forward, TimeSource::measured);
  EXPECT_EQ(on_line.sources.communication, TimeSource::fitted);
  messages[4].time = 1.5 * messages[4].time;
  EXPECT_GT(*predicted().high / predicted().time.total, 1.089);
  EXPECT_FALSE(predict_timed(timed, {messages}, on(1, Schedule::sequential), {}, {}).low);
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  const Prediction by_sheet = predict_timed(timed, {{}, &machine}, run, {}, {});
  EXPECT_GT(*by_sheet.high / by_sheet.time.total, 1.089);
  EXPECT_EQ(by_sheet.sources.communication, TimeSource::data_sheet);
}

TEST(TimedIterations, WaitForInputThatIsSlower) {
  std::mt19937 random(9);
  TimedLayers timed = some_layers(random);
  timed.io = Seconds(10);
  const Prediction said = predict_timed(timed, {on_a_line()}, on(4, Schedule::wait_free), {}, {});
  EXPECT_NEAR(said.time.total.si(), 10, 1e-9);
  EXPECT_EQ(said.bound, "input");
  EXPECT_GT(said.time.io, Seconds(9));
}

TEST(TimedIterations, TakeMessagesFromAClusterAsOthersDo) {
  std::mt19937 random(10);
  const TimedLayers timed = some_layers(random);
  const Machine machine = nominal_machine(load_cluster("p40x16"));
  for (const int ranks : {2, 16}) {
    dlscale::Run run = on(ranks, Schedule::sequential);
    run.ranks_per_node = machine.cluster.devices_per_node;
    Notes notes;
    const MessageTimes times(machine, {ranks, run.ranks_per_node}, run.schedule, notes);
    Seconds all;
    for (const TimedLayer& layer : timed.layers) {
      if (layer.gradient > Bytes()) all += times.time(layer.gradient).value;
    }
    const Prediction said = predict_timed(timed, {{}, &machine}, run, {}, {});
    EXPECT_NEAR(said.time.exposed_comm / all, 1, 1e-9) << ranks;
  }
}

TEST(TimedIterations, WaitForStragglersIfTheyAreStated) {
  std::mt19937 random(11);
  const TimedLayers timed = some_layers(random);
  const auto messages = on_a_line();
  const dlscale::Run run = on(4, Schedule::wait_free);
  const Prediction even = predict_timed(timed, {messages}, run, {}, {});
  const Prediction uneven = predict_timed(timed, {messages}, run, {}, {0.05});
  EXPECT_GT(uneven.time.total, even.time.total);
  EXPECT_FALSE(uneven.closed_form);
}

TEST(TimedCosts, AreTheLineThroughWhatWasTimed) {
  Notes notes;
  const LinearCost cost = timed_cost(on_a_line(), 4, Bytes(1e6), notes);
  EXPECT_NEAR(cost.a.si(), 4e-4, 1e-12);
  EXPECT_NEAR(cost.b.si(), 1e-9, 1e-17);
  EXPECT_EQ(notes.all().size(), 1U);
  (void)timed_cost(on_a_line(), 4, Bytes(1e7), notes);
  ASSERT_EQ(notes.all().size(), 2U);
  EXPECT_EQ(notes.all()[1].kind, NoteKind::timed_line_extended);
}

TEST(TimedCosts, OfRanksOrSizesThatWereNotTimedAreRefused) {
  Notes notes;
  const auto error = [&](const std::vector<TimedMessage>& messages) {
    return config_error([&] { (void)timed_cost(messages, 8, Bytes(1e6), notes); });
  };
  expect_contains(error(on_a_line()), "no all-reduce was timed on 8 ranks");
  expect_contains(error(on_a_line()), "(2, 4)");
  const std::vector<TimedMessage> one_size{{8, Bytes(10), 1.0_ms}, {8, Bytes(10), 2.0_ms}};
  expect_contains(error(one_size), "does not tell start-ups from transfers");
}

TEST(TimedIterations, RefuseWhatTheyCannotTell) {
  std::mt19937 random(12);
  const TimedLayers timed = some_layers(random);
  const auto messages = on_a_line();
  for (const Schedule schedule : {Schedule::reduce_scatter_overlap, Schedule::priority}) {
    expect_contains(
        config_error([&] { (void)predict_timed(timed, {messages}, on(4, schedule), {}, {}); }),
        "beside the next forward pass");
  }
  expect_contains(config_error([&] {
                    (void)predict_timed(timed, {messages}, on(4, Schedule::merged), 25_MiB, {});
                  }),
                  "only bucketed has buckets");
}

/// The published chain: layers and all-reduces that B-Caffe timed, against what it then trained at.
/// [shyhuai/B-Caffe scripts/gmwfbp.py, realdata_speedup]
struct Trained {
  int nodes;
  double wait_free;
  double merged;
  double single;
};
constexpr Trained trained[] = {
    {2, 299.32, 316.08, 250.28}, {4, 599.28, 600.24, 461.36}, {8, 1006.4, 1210.88, 889.28}};

class PublishedChain : public testing::Test {
 protected:
  const std::filesystem::path folder_ =
      std::filesystem::path(DLSCALE_SOURCE_DIR) / "results/published/googlenet_k80";
  const TimedLayers layers_ = read_timed_layers(folder_ / "layers.csv");
  std::vector<std::string> notes_;
  const std::vector<TimedMessage> messages_ =
      read_timed_messages(folder_ / "all_reduce.csv", notes_);
  [[nodiscard]] Trained predicted(int nodes) const {
    const auto rate = [&](Schedule schedule, std::optional<Bytes> bucket = {}) {
      dlscale::Run run = on(nodes, schedule);
      run.batch = 64;
      return predict_timed(layers_, {messages_}, run, bucket, {}).images_per_s;
    };
    return {nodes, rate(Schedule::wait_free), rate(Schedule::merged_greedy),
            rate(Schedule::bucketed, Bytes(1e9))};
  }
  /// Errors of the ratios of two ways on the same number of nodes, without their signs.
  [[nodiscard]] std::vector<double> errors() const {
    std::vector<double> errors;
    for (const Trained& measured : trained) {
      const Trained said = predicted(measured.nodes);
      const auto look = [&](double one, double other, double one_of, double other_of) {
        errors.push_back(std::abs((one / other) / (one_of / other_of) - 1));
      };
      look(said.wait_free, said.single, measured.wait_free, measured.single);
      look(said.merged, said.single, measured.merged, measured.single);
      look(said.merged, said.wait_free, measured.merged, measured.wait_free);
    }
    return errors;
  }
};

/// As results/published/README.md has it: one of the nine is further off than 8 %.
TEST_F(PublishedChain, HasTheRatiosOfItsTrainingsButOne) {
  std::vector<double> found = errors();
  std::ranges::sort(found);
  ASSERT_EQ(found.size(), 9U);
  EXPECT_LT(found[7], 0.0695);
  EXPECT_NEAR(found[8], 0.088, 5e-4);  // merged to single messages on 8 nodes
}

/// docs/explanation/worked-examples.md
TEST_F(PublishedChain, IsTheWorkedExample) {
  const std::string page =
      test::read_file(DLSCALE_SOURCE_DIR "/docs/explanation/worked-examples.md");
  for (const Trained& measured : trained) {
    const Trained said = predicted(measured.nodes);
    expect_contains(
        page,
        fmt::format("| {} | {:.3f} ({:.3f}) | {:.3f} ({:.3f}) | {:.3f} ({:.3f}) |", measured.nodes,
                    said.wait_free / said.single, measured.wait_free / measured.single,
                    said.merged / said.single, measured.merged / measured.single,
                    said.merged / said.wait_free, measured.merged / measured.wait_free));
  }
}

TEST_F(PublishedChain, KeepsTheOrderOfItsTrainings) {
  for (const Trained& measured : trained) {
    const Trained said = predicted(measured.nodes);
    EXPECT_LT(said.single, said.wait_free) << measured.nodes;
    EXPECT_LE(said.wait_free, said.merged * (1 + 1e-12)) << measured.nodes;
  }
}

}  // namespace
}  // namespace dlscale::model
