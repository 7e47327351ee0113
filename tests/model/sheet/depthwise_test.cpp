#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <variant>

#include "core/cluster/device_file.hpp"
#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "model/roofline/sheet/step_times.hpp"

namespace dlscale::model::sheet {
namespace {

/// MobileNet v2, 512 images in f16 on an RTX 3090, channels first.
struct DepthwiseTraining {
  DepthwiseTraining() {
    run.dtype = DType::f16;
    run.batch = 512;
    traits.layout = ImageLayout::channels_first;
  }
  Network network = load_network("mobilenet_v2");
  Device device = nominal_device(load_device_sheet("rtx_3090"), Seconds(3.8e-6));
  dlscale::Run run;
  ComputeTraits traits;
};

/// Their products as tiles took 8 times as long.
TEST(Depthwise, ForwardIsHeldBackByMemoryAlone) {
  const DepthwiseTraining training;
  StepTimes times(training.network, training.device, training.run, training.traits,
                  nominal_constants());
  for (const Layer& layer : training.network.layers()) {
    const auto* convolution = std::get_if<Convolution>(&layer.kind);
    if (convolution == nullptr || convolution->groups == 1) continue;
    const std::int64_t kept = layer.input_shapes.front().elements() + layer.output.elements();
    const double elements = 512.0 * static_cast<double>(kept);
    const double moved = 2 * elements / training.device.memory_bandwidth.si();
    const double time = times.time({layer.id, Pass::forward}).si();
    EXPECT_GT(time, moved) << layer.name;
    EXPECT_LT(time, 1.4 * moved + 20e-6) << layer.name;
  }
}

/// 1,832 images/s. [huggingface/pytorch-image-models,
/// results/benchmark-train-amp-nchw-pt112-cu113-rtx3090.csv, mobilenetv2_100]
TEST(Depthwise, TrainingIsAsFastAsPublished) {
  const DepthwiseTraining training;
  StepTimes times(training.network, training.device, training.run, training.traits,
                  nominal_constants());
  Seconds time = update_time(training.network, training.device, training.run, training.traits,
                             nominal_constants(),
                             Bytes(4.0 * static_cast<double>(training.network.parameter_count())));
  for (const Step step : forward_steps(training.network)) time += times.time(step);
  for (const Step step : backward_steps(training.network)) time += times.time(step);
  EXPECT_NEAR(training.run.batch / time.si(), 1832, 0.15 * 1832);
}

}  // namespace
}  // namespace dlscale::model::sheet
