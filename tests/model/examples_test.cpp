// The figures of docs/explanation/worked-examples.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <iterator>
#include <numeric>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/network/merge.hpp"
#include "core/network/network.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/cluster/stragglers.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/graph/closed_form.hpp"
#include "model/sgd_iter/predict.hpp"
#include "model/sgd_iter/time_to_train.hpp"
#include "tests/core/support.hpp"
#include "tests/model/googlenet_trace.hpp"
#include "tests/model/independent_forms.hpp"
#include "tests/model/nominal_ring.hpp"

namespace dlscale::model {
namespace {

class Examples : public testing::Test {
 protected:
  Examples() {
    std::ifstream file(DLSCALE_SOURCE_DIR "/docs/explanation/worked-examples.md");
    const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    for (const char c : text) page_ += c == '\n' ? ' ' : c;
  }
  /// That the page says this, with lines joined by blanks.
  void expect(const std::string& text) const { test::expect_contains(page_, text); }
  std::string page_;
};

constexpr double picture = 114660.07;
constexpr Bytes gradients(102228128);
/// A V100 takes 0.195 s for 64. [mlcommons/storage, workload of ResNet-50]
constexpr double v100 = 64 / 0.195;

std::string grouped(double value) {
  const long whole = std::lround(value);
  return whole < 1000 ? fmt::format("{}", whole)
                      : fmt::format("{},{:03}", whole / 1000, whole % 1000);
}

TEST(GoogLeNetTrace, HasTheParametersThatItsAuthorsCount) {
  double parameters = 0;
  for (const TracedLayer& layer : googlenet_k80) parameters += layer.parameters;
  EXPECT_EQ(std::size(googlenet_k80), 64U);
  EXPECT_EQ(parameters, 13379136);
}

TEST_F(Examples, HaveTheTwoCasesOfSpeedUp) {
  const std::vector<Seconds> backward = googlenet_backward();
  const std::vector<ReadyGradient> ready = googlenet_gradients();
  const Seconds all = std::accumulate(backward.begin(), backward.end(), Seconds());
  const IterationParts one{{}, {}, 0.5 * all, all, {}, {}};
  for (const int nodes : {2, 4, 8, 16, 32, 64}) {
    std::vector<Seconds> messages;
    for (const TracedLayer& layer : googlenet_k80) {
      messages.push_back(googlenet_all_reduce(nodes, layer.parameters));
    }
    const Seconds exposed = wait_free_closed_form(backward, messages).exposed;
    const auto speedup_in = [&](Seconds iteration) { return nodes * (one.gpu() / iteration); };
    const double wait_free = speedup_in(one.gpu() + exposed);
    const double by_case_1 = speedup_in(one.gpu() + messages.back());
    const bool is_case_1 = wait_free > by_case_1 * (1 - 1e-9);
    EXPECT_LE(wait_free, by_case_1 * (1 + 1e-9)) << nodes;  // case 1 is the best there is
    const LinearCost cost = googlenet_cost(nodes);
    const auto speedup = [&](const Groups& groups) {
      return speedup_in(one.forward + last_arrival(ready, groups, cost));
    };
    const double single = speedup(Groups{ready.size()});
    const double merged = speedup(merge_optimally(ready, cost));
    expect(fmt::format("| {} | {} | {:.2f} | {:.2f} | {:.2f} | {:.2f} | {:.2f} |", nodes,
                       is_case_1 ? 1 : 2, messages.back().si() * 1e3, exposed.si() * 1e3, wait_free,
                       single, merged));
    if (nodes == 8) {
      const double by_rule = speedup(merge_greedily(ready, cost));
      expect(fmt::format("by these assumptions it is {:.2f}.", by_rule / wait_free));
      expect(fmt::format("the iteration of merged ones, not {:.2f}.", by_rule / single));
      expect(fmt::format("merged messages to be {:.2f} times", 1210.88 / 1006.4));
      expect(fmt::format("than this says: {:.2f} times", 1210.88 / 889.28));
    }
  }
  expect(fmt::format("64 layers, {:.2f} ms of backward", all.si() * 1e3));
}

TEST_F(Examples, HaveTheDiskThatANodeShares) {
  const InputRate rate = input_rate({Bytes(picture), {}}, {0.5_GBps, 1});
  expect(fmt::format("feeds {} pictures a second (of {} B", grouped(rate.samples_per_s),
                     grouped(picture)));
}

TEST_F(Examples, HaveTheFiguresOfSummit) {
  const int gpus = 1536;
  const double rate = required_rate({.epochs = 90}, Seconds(332));
  expect(fmt::format("| an epoch | {:.3f} s",
                     time_to_train({.epochs = 1, .samples_per_s = rate}).si()));
  expect(fmt::format("which makes {:.0f} s)", 90 * 3.6));
  expect(fmt::format("| all GPUs | {} pictures/s |", grouped(rate)));
  expect(fmt::format("| a GPU | {:.1f} pictures/s |", rate / gpus));
  expect(fmt::format("| read from storage | {:.1f} GB/s, at {} B",
                     required_read(rate, Bytes(picture)).si() / 1e9, grouped(picture)));

  const int batch = 32;
  const Seconds iteration(batch * gpus / rate);
  const Seconds computing(batch / v100);
  const Seconds ring = nominal_ring(gpus, gradients, 25.0_GBps);
  const Seconds left = iteration - computing - ring;
  expect(fmt::format("| an iteration | {:.1f} ms |", iteration.si() * 1e3));
  expect(fmt::format("| computing | {:.1f} ms |", computing.si() * 1e3));
  expect(fmt::format("without start-ups | {:.1f} ms |", ring.si() * 1e3));
  expect(fmt::format("| left | {:.1f} ms |", left.si() * 1e3));
  const int steps = 2 * (gpus - 1);
  expect(fmt::format("start-ups of {:.1f} µs in each of the ring's {} steps",
                     left.si() / steps * 1e6, grouped(steps)));
  const auto alone = deviation_from_scaling(iteration, computing, ring, gpus);
  const auto by_node = deviation_from_scaling(iteration, computing, ring, gpus / 6);
  expect(fmt::format("deviate by {:.1f} ms (by {:.1f} ms, where", alone.value().si() * 1e3,
                     by_node.value().si() * 1e3));
}

TEST_F(Examples, HaveWhatIsPredictedOfSummit) {
  dlscale::Run run;
  run.network = "resnet50";
  run.cluster = "summit";
  run.ranks_per_node = 6;
  run.batch = 32;
  run.loader_threads = 7;
  run.input_copy = InputCopy::ahead;
  run.normalisation = Normalisation::device;
  const Network network = load_network("resnet50");
  const Machine machine = nominal_machine(load_cluster("summit"));
  run.schedule = Schedule::bucketed;
  const int ranks[] = {1536};
  const Prediction predicted = predict(network, machine, run, ranks).front();
  const IterationTime& time = predicted.time;
  const Seconds computing = time.forward + time.backward + time.update;
  expect(fmt::format("to take {:.1f} ms, in buckets, of which {:.1f} ms compute",
                     time.total.si() * 1e3, computing.si() * 1e3));
  const Seconds published(32 * 1536 / required_rate({.epochs = 90}, Seconds(332)));
  expect(fmt::format("{:.2f} times as long, within the interval", published / time.total));
  EXPECT_LT(published, *predicted.high);
}

TEST_F(Examples, HaveTheBatchesThatNinetyEpochsAreEnoughFor) {
  const auto& [least, critical, smallest, largest] = resnet50_imagenet;
  const double batch = critical * (90 / least - 1);
  EXPECT_NEAR(epochs_to_target(resnet50_imagenet, batch), 90, 1e-9);
  expect(fmt::format("a global batch of {} by MLPerf's reference points, {} pictures a GPU",
                     grouped(batch), static_cast<int>(batch / 1536)));
  expect(fmt::format("they ask for {:.1f} (", epochs_to_target(resnet50_imagenet, 32 * 1536)));
  expect(fmt::format("batches of {} to {})", grouped(smallest), grouped(largest)));
}

TEST_F(Examples, HaveTheFiguresOfFrontera) {
  const int nodes = 2048;
  const double rate = 260000;
  const Seconds peak = time_to_train({.epochs = 90, .samples_per_s = rate});
  expect(fmt::format("| 90 epochs | {:.1f} s, {:.2f} minutes", peak.si(), peak.si() / 60));
  expect(fmt::format("| a node | {:.1f} pictures/s |", rate / nodes));
  const BytesPerSecond read = required_read(rate, Bytes(picture));
  expect(fmt::format("| read from storage | {:.1f} GB/s, {:.1f} MB/s a node |", read.si() / 1e9,
                     read.si() / nodes / 1e6));
  const Seconds sustained = time_to_train({.epochs = 90, .samples_per_s = 250000});
  expect(
      fmt::format("90 epochs take {:.1f} s, {:.2f} minutes.", sustained.si(), sustained.si() / 60));
  expect(fmt::format("an iteration takes {:.1f} ms, of which", 32 * nodes / rate * 1e3));
  const Seconds ring = nominal_ring(nodes, gradients, 12.5_GBps);
  expect(fmt::format("takes {:.1f} ms if nothing", ring.si() * 1e3));
}

}  // namespace
}  // namespace dlscale::model
