#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/network/relu_fusion.hpp"
#include "tests/backend/compute/remote_device.hpp"
#include "tests/train/engine/fixtures.hpp"
#include "train/engine/arena.hpp"
#include "train/engine/gradient_flow.hpp"
#include "train/engine/program_plan.hpp"

namespace dlscale::train {
namespace {

constexpr std::size_t alignment = 64;

std::vector<LiveRange> random_ranges(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<LiveRange> ranges(1 + random() % 40);
  for (LiveRange& range : ranges) {
    range.bytes = random() % 1000;
    range.first = random() % 30;
    range.last = range.first + random() % 8;
  }
  return ranges;
}

/// The most bytes alive in one step: no arena can be smaller.
std::size_t most_alive(const std::vector<LiveRange>& ranges) {
  std::size_t most = 0;
  for (std::size_t step = 0; step < 40; ++step) {
    std::size_t alive = 0;
    for (const LiveRange& range : ranges) {
      if (range.first <= step && step <= range.last) alive += align_up(range.bytes, alignment);
    }
    most = std::max(most, alive);
  }
  return most;
}

TEST(Arena, NeverLetsTwoLivePiecesOverlap) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto ranges = random_ranges(seed);
    const Placement placement = place(ranges, alignment);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
      EXPECT_EQ(placement.offsets[i] % alignment, 0U);
      EXPECT_LE(placement.offsets[i] + ranges[i].bytes, placement.bytes);
      for (std::size_t j = 0; j < i; ++j) {
        const bool together =
            ranges[i].first <= ranges[j].last && ranges[j].first <= ranges[i].last;
        const bool apart = placement.offsets[i] + ranges[i].bytes <= placement.offsets[j] ||
                           placement.offsets[j] + ranges[j].bytes <= placement.offsets[i];
        EXPECT_TRUE(!together || apart) << "seed " << seed << " pieces " << i << " and " << j;
      }
    }
  }
}

TEST(Arena, IsNotMuchLargerThanWhatLivesAtOnce) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto ranges = random_ranges(seed);
    const std::size_t bytes = place(ranges, alignment).bytes;
    EXPECT_GE(bytes, most_alive(ranges));
    EXPECT_LE(static_cast<double>(bytes), 1.6 * static_cast<double>(most_alive(ranges)));
  }
}

TEST(Arena, ReusesTheMemoryOfAPieceThatIsNoLongerNeeded) {
  const std::vector<LiveRange> chain{{100, 0, 1}, {100, 1, 2}, {100, 2, 3}, {100, 3, 4}};
  EXPECT_EQ(place(chain, alignment).bytes, 2U * 128U);
}

TEST(Arena, OfNothingIsEmpty) {
  EXPECT_EQ(place({}, alignment).bytes, 0U);
}

/// Dropout in work that was recorded draws as it does in work that is given anew.

constexpr int batch_size = 3;

Network dropping_network() {
  return {"dropping",
          {3, 5, 5},
          {{"drop1", Dropout{.probability = 0.4}, {"input"}},
           {"fc1", FullyConnected{.outputs = 8}, {"drop1"}},
           {"drop2", Dropout{}, {"fc1"}},
           {"fc2", FullyConnected{.outputs = 4}, {"drop2"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc2"}}}};
}

/// What an iteration leaves. Dropped elements of drop1's output show in fc1's gradient, those of
/// drop2's in fc2's.
struct Outcome {
  double loss = 0;
  std::vector<float> gradient1;
  std::vector<float> gradient2;
  bool operator==(const Outcome&) const = default;
};

Outcome outcome_of(const Program& program) {
  return {program.loss(), program.plain_gradient(LayerId(2)), program.plain_gradient(LayerId(4))};
}

class Dropping : public testing::Test {
 protected:
  Dropping() : program_(network_, *device_, batch_size, DType::f32), data_(network_, batch_size) {
    program_.initialise(7);
    const Batch& batch = data_.next();
    program_.set_input(batch.images, batch.labels);
  }
  void run(std::uint64_t iteration) {
    for (const Step step : program_.forward_steps()) program_.run(step, iteration);
    for (const Step step : program_.backward_steps()) program_.run(step, iteration);
  }
  /// What iterations 0 to 4 leave on the reference, which never sees seeds in memory.
  std::vector<Outcome> expected() {
    const auto reference = open_backend("reference");
    Program program(network_, *reference, batch_size, DType::f32);
    program.initialise(7);
    MadeData data(network_, batch_size);
    const Batch& batch = data.next();
    std::vector<Outcome> outcomes;
    for (std::uint64_t iteration = 0; iteration < 5; ++iteration) {
      run_once(program, batch, iteration);
      outcomes.push_back(outcome_of(program));
    }
    return outcomes;
  }

  Network network_ = dropping_network();
  std::unique_ptr<backend::ComputeDevice> device_ = backend::make_remote_device();
  Program program_;
  MadeData data_;
};

TEST_F(Dropping, DrawsInReplaysWhatItDrawsInRuns) {
  const std::vector<Outcome> wanted = expected();
  program_.send_seeds(0);
  constexpr std::uint64_t any = 99;  // what is recorded does not count
  const auto recording = device_->record([&] { run(any); });
  for (const std::uint64_t iteration : {0U, 1U, 2U, 1U, 4U, 3U}) {
    program_.send_seeds(iteration);
    recording->play();
    EXPECT_EQ(outcome_of(program_), wanted[iteration]) << iteration;
  }
}

TEST_F(Dropping, DrawsAnewInEveryIteration) {
  const std::vector<Outcome> outcomes = expected();
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      EXPECT_NE(outcomes[i].gradient1, outcomes[j].gradient1);
      EXPECT_NE(outcomes[i].gradient2, outcomes[j].gradient2);
    }
  }
}

TEST_F(Dropping, LeavesAnIterationUnderWayItsSeeds) {
  const std::vector<Outcome> wanted = expected();
  program_.send_seeds(0);
  const auto recording = device_->record([&] { run(0); });
  for (std::uint64_t iteration = 0; iteration < 4; ++iteration) {
    program_.send_seeds(iteration);
    recording->play();
    program_.send_seeds(iteration + 1);  // while it runs
    EXPECT_EQ(outcome_of(program_), wanted[iteration]) << iteration;
  }
}

TEST_F(Dropping, ReadsTheSeedsInMemoryWithoutARecordingToo) {
  const std::vector<Outcome> wanted = expected();
  program_.send_seeds(3);
  run(3);
  EXPECT_EQ(outcome_of(program_), wanted[3]);
}

TEST(SendingSeeds, DoesNothingWithoutDropout) {
  const auto device = backend::make_remote_device();
  Program program(chain_network(), *device, 1, DType::f32);
  const Bytes before = program.memory();
  program.send_seeds(1);
  program.synchronize();
  EXPECT_EQ(program.memory(), before);
}

using BufferId = GradientFlow::BufferId;
using Kind = GradientFlow::Move::Kind;

/// Outputs of a made-up device whose layouts are named by the layer's index in `layouts`.
std::vector<backend::TensorDesc> made_outputs(const Network& network,
                                              const std::map<std::string, std::string>& layouts) {
  std::vector<backend::TensorDesc> outputs;
  for (const Layer& layer : network.layers()) {
    backend::TensorDesc desc;
    desc.layout.bytes = static_cast<std::size_t>(layer.output.elements()) * 4;
    const auto named = layouts.find(layer.name);
    desc.layout.name = named == layouts.end() ? "plain" : named->second;
    outputs.push_back(desc);
  }
  return outputs;
}

GradientFlow flow_of(const Network& network,
                     const std::map<std::string, std::string>& layouts = {}) {
  return plan_gradient_flow(network, made_outputs(network, layouts), backward_steps(network));
}

LayerId find(const Network& network, std::string_view name) {
  const auto found = std::ranges::find(network.layers(), name, &Layer::name);
  EXPECT(found != network.layers().end());
  return found->id;
}

std::size_t count_moves(const GradientFlow& flow, Kind kind) {
  std::size_t count = 0;
  for (const auto& moves : flow.moves)
    count += std::ranges::count(moves, kind, &GradientFlow::Move::kind);
  return count;
}

/// Gradients as sets of paths: runs the plan symbolically. Each buffer holds how often the gradient
/// of each loss path reached it; 0 times or twice would show. A layer with a ReLU spoils the
/// gradient of its output, which it may write to, for whoever reads it later.
class Symbolic {
 public:
  Symbolic(const Network& network, const GradientFlow& flow) : network_(&network), flow_(&flow) {
    held_.resize(flow.like.size());
  }

  /// By layer: what its output gradient held when it was read.
  std::map<std::string, double> run() {
    const auto steps = backward_steps(*network_);
    for (std::size_t i = 0; i < steps.size(); ++i) {
      for (const auto& move : flow_->moves[i]) apply(move);
      const Layer& layer = network_->layer(steps[i].layer);
      if (steps[i].pass != Pass::accumulate) read_and_write(layer, steps[i].pass);
      const bool last_of_layer = i + 1 == steps.size() || steps[i + 1].layer != layer.id;
      if (layer.relu && last_of_layer) held_[flow_->output[layer.id.index()]->index()] = NAN;
    }
    return read_;
  }

 private:
  void apply(const GradientFlow::Move& move) {
    double& to = held_[move.to.index()];
    to = (move.kind == Kind::add ? to : 0) + held_[move.from.index()];
  }
  void read_and_write(const Layer& layer, Pass pass) {
    const auto gradient = flow_->output[layer.id.index()];
    const double value = gradient ? held_[gradient->index()] : 1.0;
    read_[layer.name] = value;
    if (pass != Pass::backward_data) return;
    for (const BufferId buffer : flow_->inputs[layer.id.index()]) held_[buffer.index()] = value;
  }

  const Network* network_;
  const GradientFlow* flow_;
  std::vector<double> held_;
  std::map<std::string, double> read_;
};

/// The number of paths from each layer's output to losses: consumers come after their producers.
std::vector<double> count_paths(const Network& network) {
  std::vector<double> paths(network.layers().size());
  for (std::size_t i = paths.size(); i-- > 0;) {
    const Layer& layer = network.layers()[i];
    if (std::holds_alternative<SoftmaxCrossEntropy>(layer.kind)) paths[i] = 1;
    for (const LayerId input : layer.inputs) paths[input.index()] += paths[i];
  }
  return paths;
}

void expect_every_path_once(const Network& network,
                            const std::map<std::string, std::string>& layouts) {
  const GradientFlow flow = flow_of(network, layouts);
  const std::vector<double> paths = count_paths(network);
  for (const auto& [name, value] : Symbolic(network, flow).run()) {
    EXPECT_EQ(value, paths[find(network, name).index()]) << name;
  }
}

Network sum_network() {
  return {"sums",
          {2, 4, 4},
          {{"conv", Convolution{.out_channels = 2, .kernel_h = 1, .kernel_w = 1}, {"input"}},
           {"other", Relu{}, {"conv"}},
           {"twice", Sum{}, {"conv", "other"}},
           {"pass", Sum{}, {"conv", "twice"}},
           {"again", Sum{}, {"twice", "conv", "pass"}},
           {"images", Sum{}, {"again", "input"}},
           {"fc", FullyConnected{.outputs = 2}, {"images"}},
           {"loss", SoftmaxCrossEntropy{}, {"fc"}},
           {"fc2", FullyConnected{.outputs = 2}, {"twice"}},
           {"loss2", SoftmaxCrossEntropy{}, {"fc2"}}}};
}

TEST(GradientFlow, BringsTheGradientOfEveryPathToEveryLayerOnce) {
  expect_every_path_once(chain_network(), {});
  expect_every_path_once(branched_network(), {});
  expect_every_path_once(sum_network(), {});
}

TEST(GradientFlow, DoesSoWhereTheInputsOfASumHaveOtherLayouts) {
  for (const char* layer : {"left", "right", "relu", "sum1", "sum2"}) {
    expect_every_path_once(branched_network(), {{layer, "blocked"}});
  }
  for (const char* layer : {"conv", "twice", "again", "images"}) {
    expect_every_path_once(sum_network(), {{layer, "blocked"}});
  }
}

/// Sums with ReLUs among them; "conv" and "twice" share the gradient of a sum with other layers.
Network fused_network() {
  const Convolution point{.out_channels = 2, .kernel_h = 1, .kernel_w = 1};
  return fuse_relu({"fused",
                    {2, 4, 4},
                    {{"conv", point, {"input"}},
                     {"conv_relu", Relu{}, {"conv"}},
                     {"other", point, {"input"}},
                     {"plain", Sum{}, {"conv_relu", "other"}},
                     {"norm", BatchNorm{}, {"plain"}},
                     {"norm_relu", Relu{}, {"norm"}},
                     {"twice", Sum{}, {"plain", "norm_relu"}},
                     {"twice_relu", Relu{}, {"twice"}},
                     {"again", Sum{}, {"other", "twice_relu", "input"}},
                     {"again_relu", Relu{}, {"again"}},
                     {"fc", FullyConnected{.outputs = 2}, {"again_relu"}},
                     {"loss", SoftmaxCrossEntropy{}, {"fc"}},
                     {"fc2", FullyConnected{.outputs = 2}, {"twice_relu"}},
                     {"loss2", SoftmaxCrossEntropy{}, {"fc2"}}}});
}

TEST(GradientFlow, BringsTheGradientOfEveryPathToLayersWithRelus) {
  expect_every_path_once(fused_network(), {});
  for (const char* layer : {"conv", "other", "plain", "norm", "twice", "again"}) {
    expect_every_path_once(fused_network(), {{layer, "blocked"}});
  }
}

TEST(GradientFlow, GivesTheInputsOfASumWithAReluOneGradient) {
  const GradientFlow flow = flow_of(fused_network());
  const Network network = fused_network();
  const auto& made = flow.inputs[find(network, "again").index()];
  ASSERT_EQ(made.size(), 1U);
  EXPECT_NE(flow.output[find(network, "again").index()], made.front());
}

TEST(GradientFlow, HandsTheGradientOfASumOnWithoutWork) {
  const Network network(
      "residual", {4, 4, 4},
      {{"conv", Convolution{.out_channels = 4, .kernel_h = 1, .kernel_w = 1}, {"input"}},
       {"other", Convolution{.out_channels = 4, .kernel_h = 1, .kernel_w = 1}, {"conv"}},
       {"sum", Sum{}, {"other", "conv"}},
       {"fc", FullyConnected{.outputs = 2}, {"sum"}},
       {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  const GradientFlow flow = flow_of(network);
  EXPECT_EQ(flow.output[find(network, "other").index()], flow.output[find(network, "sum").index()]);
  EXPECT_EQ(count_moves(flow, Kind::copy), 0U);
  EXPECT_EQ(count_moves(flow, Kind::add), 1U);  // the two gradients of conv
}

TEST(GradientFlow, NeedsABufferFromItsFirstToItsLastUse) {
  for (const Network& network :
       {chain_network(), branched_network(), sum_network(), fused_network()}) {
    const GradientFlow flow = flow_of(network);
    const auto steps = backward_steps(network);
    const auto covered = [&](BufferId buffer, std::size_t step) {
      return flow.live[buffer.index()].first <= step && step <= flow.live[buffer.index()].last;
    };
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const std::size_t layer = steps[i].layer.index();
      for (const auto& move : flow.moves[i])
        EXPECT_TRUE(covered(move.from, i) && covered(move.to, i));
      if (steps[i].pass == Pass::accumulate) continue;
      EXPECT_TRUE(!flow.output[layer] || covered(*flow.output[layer], i));
      if (steps[i].pass != Pass::backward_data) continue;
      for (const BufferId buffer : flow.inputs[layer]) EXPECT_TRUE(covered(buffer, i));
    }
  }
}

TEST(GradientFlow, LetsTheArenaReuseMemoryInADeepChain) {
  std::vector<Network::Node> nodes;
  std::string last = "input";
  for (int i = 0; i < 20; ++i) {
    const std::string name = "conv" + std::to_string(i);
    nodes.push_back({name, Convolution{.out_channels = 3, .kernel_h = 1, .kernel_w = 1}, {last}});
    last = name;
  }
  nodes.push_back({"fc", FullyConnected{.outputs = 2}, {last}});
  nodes.push_back({"loss", SoftmaxCrossEntropy{}, {"fc"}});
  const GradientFlow flow = flow_of(Network("deep", {3, 16, 16}, nodes));
  const std::size_t one = std::size_t{3} * 16 * 16 * 4;
  EXPECT_EQ(place(flow.live, 64).bytes, 2 * one);
}

}  // namespace
}  // namespace dlscale::train
