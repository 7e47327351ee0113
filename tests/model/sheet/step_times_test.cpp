#include "model/roofline/sheet/step_times.hpp"

#include <gtest/gtest.h>

#include <string_view>

#include "core/cluster/device_file.hpp"
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

TEST(StepTimes, AreLongerByOldLibrariesLayoutsAndSeparateKernels) {
  const Network network = load_network("resnet50");
  const Device v100 = device_of("v100_sxm2_16gb");
  const TrainingRun run = run_of(DType::f16, 128);
  ComputeTraits best{ImageLayout::channels_last, Elementwise::norm_act, UpdateKernels::fused, 2021};
  const double quick = iteration(network, v100, run, best).total();
  for (const ComputeTraits& worse :
       {ComputeTraits{ImageLayout::channels_first, best.elementwise, best.update, 2021},
        ComputeTraits{best.layout, Elementwise::separate, best.update, 2021},
        ComputeTraits{best.layout, best.elementwise, UpdateKernels::ops, 2021},
        ComputeTraits{best.layout, best.elementwise, best.update, 2017}}) {
    EXPECT_GT(iteration(network, v100, run, worse).total(), quick);
  }
  TrainingRun recorded = run;
  recorded.launch = Launch::graph;
  EXPECT_LT(iteration(network, v100, recorded, best).total(), quick);
}

TEST(StepTimes, DoubtUnknownSoftwareWhereItMatters) {
  const Network network = load_network("resnet50");
  const auto range = [&](DType dtype, const ComputeTraits& traits) {
    StepTimes times(network, device_of("h100_sxm5_80gb"), run_of(dtype, 64), traits,
                    nominal_constants());
    return kernel_range(times, traits, dtype, nominal_constants());
  };
  const ComputeTraits known{ImageLayout::channels_first, Elementwise::separate, {}, {}};
  EXPECT_LT(range(DType::bf16, {}).low, 0.85 * range(DType::bf16, known).low);
  EXPECT_EQ(range(DType::bf16, {}).high, range(DType::bf16, known).high) << "the usual is slow";
  EXPECT_LT(range(DType::bf16, known).low, range(DType::f32, known).low);
  const ComputeTraits in_part{{}, Elementwise::separate, {}, {}};
  EXPECT_LT(range(DType::bf16, in_part).low, range(DType::bf16, known).low);
  EXPECT_GT(range(DType::bf16, in_part).high, range(DType::bf16, known).high);
  EXPECT_EQ(range(DType::f32, in_part).low, range(DType::f32, known).low) << "no tensor cores";
}

/// What other software reaches lies within the interval of a question that names none.
TEST(StepTimes, IntervalWithoutSoftwareReachesToTheQuickest) {
  const Network network = load_network("resnet50");
  const Device h100 = device_of("h100_sxm5_80gb");
  const TrainingRun run = run_of(DType::bf16, 256);
  StepTimes unknown(network, h100, run, {}, nominal_constants());
  const double low = kernel_range(unknown, {}, DType::bf16, nominal_constants()).low;
  const ComputeTraits quickest{ImageLayout::channels_last, Elementwise::norm_act, {}, {}};
  const auto kernels = [&](const ComputeTraits& traits) {
    const Iteration times = iteration(network, h100, run, traits);
    return times.forward + times.backward;
  };
  EXPECT_GT(kernels(quickest), low * kernels({}));
}

TEST(StepTimes, AreThereForEveryNetwork) {
  for (const char* name : {"gpt2", "mixtral_8x7b", "t5_base", "unet", "vit_base", "amoebanet_d"}) {
    const Iteration times =
        iteration(load_network(name), device_of("a100_sxm4_80gb"), run_of(DType::bf16, 2), {});
    EXPECT_GT(times.forward, 0) << name;
    EXPECT_GT(times.backward, times.forward) << name;
    EXPECT_LT(times.backward, 3 * times.forward) << name;
  }
}

}  // namespace
}  // namespace dlscale::model::sheet
