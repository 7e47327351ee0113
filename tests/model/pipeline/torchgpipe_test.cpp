#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <string_view>
#include <vector>

#include "core/cluster/device_file.hpp"
#include "core/cluster/link_kind.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "core/parallel/schedule/family.hpp"
#include "model/parallel/pipeline/simulation.hpp"
#include "model/roofline/sheet/step_times.hpp"

/// ResNet-101 by torchgpipe on Tesla P40s: its published speed-ups over one device without a
/// pipeline, from data sheets. [github.com/kakaobrain/torchgpipe: docs/benchmarks.rst, version
/// 0.0.3 at commit 5ec5053 and 0.0.5 at 9dc3f38; batches and balances are those of main.py in
/// examples/resnet101_performance_benchmark and benchmarks/resnet101-speed]
namespace dlscale::model {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

/// A published experiment: micro-batches of an iteration, and modules of each stage. All but the
/// last of several micro-batches are computed again for backward.
struct Experiment {
  double speedup;
  int batch;
  int micro_batches;
  std::vector<int> balance;
};

/// By layer, the place among torchgpipe's modules. A block begins with a module that keeps its
/// input, and the shortcut's layers are part of the module that adds it.
std::vector<int> modules_of(const Network& network) {
  std::vector<int> modules;
  int next = 0;
  for (const Layer& layer : network.layers()) {
    const std::string_view name = layer.name;
    const bool opens_block = name.ends_with(".conv1");
    const bool with_the_next = name.ends_with("shortcut") || name.ends_with("shortcut_bn");
    const bool of_none = modules.empty() || name == "loss";
    if (opens_block) ++next;
    if (name == "fc") ++next;  // after the module that flattens
    modules.push_back(of_none ? std::max(next - 1, 0) : next);
    if (!with_the_next && !of_none) ++next;
  }
  return modules;
}

/// One training by modules.
class Modules {
 public:
  Modules(const Network& network, const Device& device, const ComputeTraits& traits, int batch)
      : network_(network), modules_(modules_of(network)), batch_(batch) {
    TrainingRun run;
    run.batch = batch;
    sheet::StepTimes times(network, device, run, traits, sheet::nominal_constants());
    forward_.resize(count());
    backward_.resize(count());
    for (const Step step : forward_steps(network)) {
      forward_[module_of(step.layer)] += times.time(step);
    }
    for (const Step step : backward_steps(network)) {
      backward_[module_of(step.layer)] += times.time(step);
    }
    update_ = sheet::update_time(sheet::update_work(network), device, run, traits,
                                 sheet::nominal_constants());
  }
  [[nodiscard]] std::size_t count() const { return static_cast<std::size_t>(modules_.back()) + 1; }
  /// Without a pipeline.
  [[nodiscard]] Seconds iteration() const {
    return std::accumulate(forward_.begin(), forward_.end(), Seconds()) +
           std::accumulate(backward_.begin(), backward_.end(), Seconds()) + update_;
  }
  /// Modules [first, end) as a stage, computed again for backward.
  void add_stage(std::size_t first, std::size_t end, BytesPerSecond link,
                 PipelineCosts& costs) const {
    costs.forward.emplace_back();
    for (std::size_t module = first; module < end; ++module) {
      costs.forward.back() += forward_[module];
    }
    costs.backward.push_back(costs.forward.back());
    for (std::size_t module = first; module < end; ++module) {
      costs.backward.back() += backward_[module];
    }
    if (end < count()) costs.boundary.push_back(crossing(static_cast<int>(end)) / link);
  }

 private:
  [[nodiscard]] std::size_t module_of(LayerId layer) const {
    return static_cast<std::size_t>(modules_[layer.index()]);
  }
  /// Tensors that modules before `cut` make and others read, each once.
  [[nodiscard]] Bytes crossing(int cut) const {
    double elements = 0;
    for (const Layer& layer : network_.layers()) {
      if (modules_[layer.id.index()] >= cut) continue;
      for (const LayerId consumer : network_.consumers(layer.id)) {
        if (modules_[consumer.index()] < cut) continue;
        elements += static_cast<double>(layer.output.elements());
        break;
      }
    }
    return Bytes(4.0 * elements * batch_);
  }

  const Network& network_;
  std::vector<int> modules_;
  int batch_;
  std::vector<Seconds> forward_;  ///< by module
  std::vector<Seconds> backward_;
  Seconds update_;
};

/// Samples per second of a pipeline over those of one device without it.
double speedup(const Network& network, const Device& device, const ComputeTraits& traits,
               const Experiment& experiment, int baseline) {
  const Modules modules(network, device, traits, experiment.batch / experiment.micro_batches);
  EXPECT_EQ(modules.count(), 370U);
  const BytesPerSecond link = load_link_kind("pcie3x16").bandwidth();
  PipelineCosts costs;
  std::size_t first = 0;
  for (const int length : experiment.balance) {
    modules.add_stage(first, first + static_cast<std::size_t>(length), link, costs);
    first += static_cast<std::size_t>(length);
  }
  const parallel::PipelineShape shape{static_cast<int>(experiment.balance.size()), 1,
                                      experiment.micro_batches};
  Seconds time = simulate(parallel::find_schedule("gpipe").schedule(shape), costs).makespan;
  if (experiment.micro_batches > 1) {  // the last one, whose backward comes first
    time -= std::accumulate(costs.forward.begin(), costs.forward.end(), Seconds());
  }
  const Modules alone(network, device, traits, baseline);
  return experiment.batch / time.si() / (baseline / alone.iteration().si());
}

/// A version of torchgpipe: the batch of one device, and its pipelines.
struct Version {
  int baseline;
  std::vector<Experiment> experiments;
};

/// Two stages are 12 to 15 % too slow: micro-batches of 15 and 16 take less than the model of
/// kernels says, compared with batches of 96 and 118. The others are within 10 %.
TEST(TorchGPipe, SpeedsUpResNet101AsPublished) {
  const std::vector<int> eight{26, 22, 33, 44, 44, 66, 66, 69};
  const std::vector<Version> versions{{96,
                                       {{0.756, 96, 1, {370}},
                                        {1.489, 4096, 256, {140, 230}},
                                        {2.629, 4096, 256, {47, 96, 118, 109}},
                                        {4.367, 4096, 64, eight}}},
                                      {118,
                                       {{0.853, 220, 2, {370}},
                                        {1.414, 25'000, 1667, {135, 235}},
                                        {2.774, 5632, 256, {44, 92, 124, 110}},
                                        {4.294, 5400, 150, eight}}}};
  const Network network = load_network("resnet101");
  const Device p40 = nominal_device(load_device_sheet("p40"), sheet::fitted_launch);
  ComputeTraits traits = usual_traits(NetworkFamily::cnn);
  traits.optimizer = Optimizer::sgd;
  traits.search = AlgorithmSearch::heuristic;  // the scripts leave cudnn.benchmark off
  double sum = 0;
  for (const Version& version : versions) {
    double last = 0;
    for (const Experiment& experiment : version.experiments) {
      const double predicted = speedup(network, p40, traits, experiment, version.baseline);
      const double error = std::abs(predicted / experiment.speedup - 1);
      EXPECT_LE(error, 0.16) << experiment.balance.size() << " stages: " << predicted;
      EXPECT_GT(predicted, last);
      last = predicted;
      sum += error;
    }
  }
  EXPECT_LE(sum / 8, 0.075);
}

}  // namespace
}  // namespace dlscale::model
