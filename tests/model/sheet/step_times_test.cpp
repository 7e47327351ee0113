#include "model/roofline/sheet/step_times.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"

namespace dlscale::model::sheet {
namespace {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

Device device_of(std::string_view sheet) {
  return nominal_device(load_device_sheet(sheet), Seconds(3.8e-6));
}

/// Times of an iteration.
struct Iteration {
  double forward = 0;
  double backward = 0;
  double update = 0;
  [[nodiscard]] double total() const { return forward + backward + update; }
};

Iteration iteration(const Network& network, const Device& device, const TrainingRun& run,
                    const ComputeTraits& traits) {
  StepTimes times(network, device, run, traits, nominal_constants());
  Iteration sum;
  for (const Step step : forward_steps(network)) sum.forward += times.time(step).si();
  for (const Step step : backward_steps(network)) sum.backward += times.time(step).si();
  const Bytes parameters(4.0 * static_cast<double>(network.parameter_count()));
  sum.update = update_time(network, device, run, traits, nominal_constants(), parameters).si();
  return sum;
}

TrainingRun run_of(DType dtype, int batch) {
  TrainingRun run;
  run.dtype = dtype;
  run.batch = batch;
  return run;
}

double images_per_s(std::string_view network, std::string_view device, DType dtype, int batch) {
  return batch /
         iteration(load_network(network), device_of(device), run_of(dtype, batch), {}).total();
}

/// NVIDIA's figure is about 3,000, and frameworks that nobody tuned reach as many.
TEST(StepTimes, SayWhatOneH100Trains) {
  const double plain = images_per_s("resnet50_v1.5", "h100_sxm5_80gb", DType::bf16, 256);
  EXPECT_GT(plain, 0.85 * 2900);
  EXPECT_LT(plain, 1.15 * 3100);
}

TEST(StepTimes, RiseWithTheBatchAndFallWithRates) {
  const Network network = load_network("resnet50");
  const Device v100 = device_of("v100_sxm2_16gb");
  for (const DType dtype : {DType::f32, DType::f16}) {
    double before = 0;
    for (int batch = 1; batch <= 256; batch *= 2) {
      const double now = iteration(network, v100, run_of(dtype, batch), {}).total();
      EXPECT_GT(now, before) << batch;
      before = now;
      Device faster = v100;
      for (auto& [format, peak] : faster.peak) peak = 1.5 * peak;
      EXPECT_LT(iteration(network, faster, run_of(dtype, batch), {}).total(), now) << batch;
      faster = v100;
      faster.memory_bandwidth = 1.5 * faster.memory_bandwidth;
      EXPECT_LT(iteration(network, faster, run_of(dtype, batch), {}).total(), now) << batch;
      faster = v100;
      faster.launch = {};
      EXPECT_LT(iteration(network, faster, run_of(dtype, batch), {}).total(), now) << batch;
    }
  }
}

/// Stated traits of CNNs, which the test then changes.
ComputeTraits stated() {
  ComputeTraits traits;
  traits.stated = true;
  return traits;
}

template <class Value>
ComputeTraits with(ComputeTraits traits, Value ComputeTraits::*trait, Value value) {
  traits.*trait = value;
  return traits;
}

ComputeTraits quick() {
  ComputeTraits traits = stated();
  traits.layout = ImageLayout::channels_last;
  traits.elementwise = Elementwise::norm_act;
  traits.update = UpdateKernels::fused;
  return traits;
}

TEST(StepTimes, AreLongerByOldLibrariesLayoutsAndSeparateKernels) {
  const Network network = load_network("resnet50");
  const Device v100 = device_of("v100_sxm2_16gb");
  const TrainingRun run = run_of(DType::f16, 128);
  const auto time = [&](const ComputeTraits& traits) {
    return iteration(network, v100, run, traits).total();
  };
  const ComputeTraits best = quick();
  using T = ComputeTraits;
  EXPECT_GT(time(with(best, &T::layout, std::optional(ImageLayout::channels_first))), time(best));
  EXPECT_GT(time(with(best, &T::elementwise, std::optional(Elementwise::separate))), time(best));
  EXPECT_GT(time(with(best, &T::update, UpdateKernels::ops)), time(best));
  EXPECT_GT(time(with(best, &T::optimizer, Optimizer::adam)), time(best));
  EXPECT_LT(time(with(best, &T::optimizer, Optimizer::sgd)), time(best));
  EXPECT_LT(time(with(best, &T::master_weights, false)), time(best));
  EXPECT_GT(time(with(best, &T::libraries, 2017.0)), time(best));
  EXPECT_GT(time(with(best, &T::float_math, true)), time(best));
  EXPECT_GT(time(with(best, &T::frozen_norm, true)), time(best));
  EXPECT_GT(time(with(best, &T::input_gradient, true)), time(best));
  EXPECT_GT(time(with(best, &T::search, AlgorithmSearch::direct)), time(best));
  TrainingRun recorded = run;
  recorded.launch = Launch::graph;
  EXPECT_LT(iteration(network, v100, recorded, best).total(), time(best));
}

/// Kernels of an iteration, without its update.
double kernels_of(const Network& network, const Device& device, const TrainingRun& run,
                  const ComputeTraits& traits) {
  const Iteration times = iteration(network, device, run, traits);
  return times.forward + times.backward;
}

TEST(StepTimes, AreTheGeometricMeanOfWaysWhereATraitIsUnknown) {
  const Network network = load_network("resnet50");
  const Device h100 = device_of("h100_sxm5_80gb");
  const TrainingRun run = run_of(DType::bf16, 256);
  const ComputeTraits first = stated();
  ComputeTraits last = first;
  last.layout = ImageLayout::channels_last;
  ComputeTraits unknown = first;
  unknown.layout.reset();
  const double slow = kernels_of(network, h100, run, first);
  const double fast = kernels_of(network, h100, run, last);
  EXPECT_NEAR(kernels_of(network, h100, run, unknown), std::sqrt(slow * fast), 1e-9 * slow);
  const StepTimes times(network, h100, run, unknown, nominal_constants());
  EXPECT_NEAR(times.doubt(), std::log(slow / fast) / 2, 1e-9);
  ComputeTraits heuristic = first;
  heuristic.search = AlgorithmSearch::heuristic;
  ComputeTraits direct = first;
  direct.search = AlgorithmSearch::direct;
  const double without = kernels_of(network, h100, run, direct);
  EXPECT_NEAR(kernels_of(network, h100, run, heuristic), std::sqrt(slow * without), 1e-9 * slow);
}

TEST(StepTimes, TakeOtherConstantsForTheWorkThatIsCounted) {
  const Network network = load_network("resnet50");
  const Device v100 = device_of("v100_sxm2_16gb");
  const TrainingRun run = run_of(DType::f16, 64);
  KernelConstants slower = nominal_constants();
  slower.efficiency *= 0.5;
  slower.kernel_overhead *= 2;
  StepTimes taken(network, v100, run, quick(), nominal_constants());
  StepTimes made(network, v100, run, quick(), slower);
  const Step step = forward_steps(network).front();
  EXPECT_LT(taken.time(step), made.time(step));
  taken.take(slower);
  EXPECT_EQ(taken.time(step), made.time(step));
}

TEST(StepTimes, DoubtUnknownSoftwareWhereItMatters) {
  const Network network = load_network("resnet50");
  const auto range = [&](DType dtype, const ComputeTraits& traits) {
    const StepTimes times(network, device_of("h100_sxm5_80gb"), run_of(dtype, 64), traits,
                          nominal_constants());
    return kernel_range(times, traits, dtype, nominal_constants());
  };
  const ComputeTraits known = stated();
  EXPECT_LT(range(DType::bf16, {}).low, 0.85 * range(DType::bf16, known).low);
  EXPECT_EQ(range(DType::bf16, {}).high, range(DType::bf16, known).high) << "the usual is slow";
  EXPECT_LT(range(DType::bf16, known).low, range(DType::f32, known).low);
  ComputeTraits in_part = known;
  in_part.layout.reset();
  EXPECT_LT(range(DType::bf16, in_part).low, range(DType::bf16, known).low);
  EXPECT_GT(range(DType::bf16, in_part).high, range(DType::bf16, known).high);
  EXPECT_EQ(range(DType::f32, in_part).low, range(DType::f32, known).low) << "no tensor cores";
}

/// What other software reaches lies within the interval of a question that names none.
TEST(StepTimes, IntervalWithoutSoftwareReachesToTheQuickest) {
  for (const char* name : {"resnet50", "vit_base", "gpt2"}) {
    const Network network = load_network(name);
    const Device h100 = device_of("h100_sxm5_80gb");
    const TrainingRun run = run_of(DType::bf16, 64);
    const bool transformer = network.has_attention();
    const ComputeTraits usual = usual_traits(family_of(network));
    const StepTimes unknown(network, h100, run, usual, nominal_constants());
    const double low = kernel_range(unknown, usual, DType::bf16, nominal_constants()).low;
    ComputeTraits quickest = quick();
    if (transformer) quickest.elementwise = Elementwise::all;
    EXPECT_GT(kernels_of(network, h100, run, quickest), low * kernels_of(network, h100, run, usual))
        << name;
  }
}

/// Attention decides what software does, whether a sample is an image or a sequence.
TEST(StepTimes, TakeTransformersOverImagesForTransformers) {
  const Network vit = load_network("vit_base");
  EXPECT_EQ(family_of(vit), NetworkFamily::transformer);
  EXPECT_EQ(traits_for(vit, DType::bf16, {}).optimizer, Optimizer::adam);
  EXPECT_EQ(traits_for(vit, DType::bf16, {}).elementwise, Elementwise::kernels);
  EXPECT_EQ(family_of(load_network("resnet50")), NetworkFamily::cnn);
}

TEST(StepTimes, AddGradientsOfMicroBatches) {
  const Network network = load_network("resnet50");
  const Device v100 = device_of("v100_sxm2_16gb");
  const KernelConstants& constants = nominal_constants();
  EXPECT_EQ(accumulation_time(network, v100, constants, 1), Seconds());
  const double bytes = 2 * 12.0 * static_cast<double>(network.parameter_count());
  EXPECT_NEAR(accumulation_time(network, v100, constants, 3).si(),
              bytes / (constants.memory_efficiency * v100.memory_bandwidth.si()), 1e-12);
}

TEST(StepTimes, AreThereForEveryNetwork) {
  for (const std::string& name : config_names("networks")) {
    const Network network = load_network(name);
    const Iteration times = iteration(network, device_of("a100_sxm4_80gb"), run_of(DType::bf16, 2),
                                      usual_traits(family_of(network)));
    EXPECT_GT(times.forward, 0) << name;
    EXPECT_GT(times.backward, times.forward) << name;
    EXPECT_LT(times.backward, 3.5 * times.forward) << name;
  }
}

}  // namespace
}  // namespace dlscale::model::sheet
