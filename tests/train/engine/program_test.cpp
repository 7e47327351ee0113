#include "train/engine/program.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

#include "core/base/error.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/core/support.hpp"
#include "tests/train/engine/fixtures.hpp"

namespace dlscale::train {
namespace {

std::vector<LayerId> layers_with_parameters(const Network& network) {
  std::vector<LayerId> layers;
  for (const Layer& layer : network.layers()) {
    if (layer.parameter_count() > 0) layers.push_back(layer.id);
  }
  return layers;
}

double loss_at(Program& program, LayerId layer, const std::vector<float>& values,
               const std::vector<float>& direction, double distance, const Batch& batch) {
  std::vector<float> moved(values);
  for (std::size_t i = 0; i < moved.size(); ++i) {
    moved[i] += static_cast<float>(distance) * direction[i];
  }
  program.set_plain_parameters(layer, moved);
  const double loss = run_once(program, batch);
  program.set_plain_parameters(layer, values);
  return loss;
}

std::vector<float> scaled_to_one(std::vector<float> vector) {
  double square = 0;
  for (const float x : vector) square += static_cast<double>(x) * static_cast<double>(x);
  for (float& x : vector) x = static_cast<float>(static_cast<double>(x) / std::sqrt(square));
  return vector;
}

double dot(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    sum += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  return sum;
}

/// The slope of the loss along the gradient and along random directions, for every layer.
void expect_gradients_are_slopes(const Network& network) {
  const auto device = open_backend("reference");
  Program program(network, *device, 4, DType::f32);
  program.initialise(3);
  MadeData data(network, 4);
  const Batch& batch = data.next();
  std::mt19937_64 random(5);
  std::normal_distribution<float> normal;
  for (const LayerId layer : layers_with_parameters(network)) {
    run_once(program, batch);
    const auto gradient = program.plain_gradient(layer);
    const auto values = program.plain_parameters(layer);
    ASSERT_EQ(gradient.size(), static_cast<std::size_t>(network.layer(layer).parameter_count()));
    std::vector<float> any(values.size());
    for (float& x : any) x = normal(random);
    for (const auto& direction : {scaled_to_one(gradient), scaled_to_one(any)}) {
      constexpr double distance = 3e-4;  // short, to cross few kinks of ReLUs
      const double slope = (loss_at(program, layer, values, direction, distance, batch) -
                            loss_at(program, layer, values, direction, -distance, batch)) /
                           (2 * distance);
      const double length = std::sqrt(dot(gradient, gradient));
      EXPECT_NEAR(dot(gradient, direction), slope, 0.01 * length)
          << "layer " << network.layer(layer).name;
    }
  }
}

TEST(Program, RefusesF16BeforeItChoosesPlans) {
  const auto device = open_backend("reference");
  try {
    const Program program(chain_network(), *device, 2, DType::f16);
    FAIL() << "trains in f16";
  } catch (const Unsupported& refusal) {
    EXPECT_STREQ(refusal.what(),
                 "training in f16 needs its loss scaled so that small gradients do not vanish, "
                 "which dlscale does not do. Train in bf16.");
  }
}

TEST(Program, ComputesTheSlopeOfTheLossInAChain) {
  expect_gradients_are_slopes(chain_network());
}

TEST(Program, ComputesTheSlopeOfTheLossWhereGradientsMeet) {
  expect_gradients_are_slopes(branched_network());
}

/// Devices that keep activations in one order alone get the images in it; others plain ones.
TEST(Program, BringsImagesIntoTheOrderOfTheDevice) {
  const Network network = chain_network();
  for (const backend::ComputeBackend* each : family<backend::ComputeBackend>().members) {
    const backend::OpenedDevice opened = backend::try_open(*each);
    if (opened.device == nullptr) continue;
    Program program(network, *opened.device, 2, DType::f32);
    const backend::TensorDesc images = program.spec(LayerId(1)).inputs.front();
    if (!each->has_own_memory()) {
      EXPECT_EQ(images.layout, opened.device->plain(images.dims, DType::f32).layout) << each->name;
      continue;
    }
    for (const Pass pass : {Pass::forward, Pass::backward_filter}) {
      EXPECT_FALSE(program.operation(LayerId(1)).reorders_activations(pass)) << each->name;
    }
  }
}

TEST(Program, GivesEveryBackendTheSameWeights) {
  const Network network = branched_network();
  const auto reference = open_backend("reference");
  Program expected(network, *reference, 2, DType::f32);
  expected.initialise(7);
  for (const auto* backend : backend::backends_with_devices()) {
    const auto device = backend->open({});
    Program program(network, *device, 2, DType::f32);
    program.initialise(7);
    for (const LayerId layer : layers_with_parameters(network)) {
      EXPECT_EQ(program.plain_parameters(layer), expected.plain_parameters(layer))
          << backend->name << ", layer " << network.layer(layer).name;
    }
  }
}

TEST(Program, DrawsWeightsWithTheVarianceOfHe) {
  const Network network(
      "wide", {8, 4, 4},
      {{"conv", Convolution{.out_channels = 200, .kernel_h = 3, .kernel_w = 3}, {"input"}},
       {"fc", FullyConnected{.outputs = 2}, {"conv"}},
       {"loss", SoftmaxCrossEntropy{}, {"fc"}}});
  const auto device = open_backend("reference");
  Program program(network, *device, 1, DType::f32);
  program.initialise(1);
  const auto values = program.plain_parameters(LayerId(1));
  const std::size_t weights = std::size_t{200} * 8 * 3 * 3;
  double square = 0;
  for (std::size_t i = 0; i < weights; ++i) square += std::pow(static_cast<double>(values[i]), 2);
  EXPECT_NEAR(square / weights, 2.0 / (8 * 3 * 3), 0.05 * 2.0 / (8 * 3 * 3));
  for (std::size_t i = weights; i < values.size(); ++i) EXPECT_EQ(values[i], 0.0F);
}

TEST(Program, AgreesWithTheReferenceOnEveryBackend) {
  for (const Network& network : {chain_network(), branched_network()}) {
    MadeData data(network, 3);
    const Batch& batch = data.next();
    const auto reference = open_backend("reference");
    Program expected(network, *reference, 3, DType::f32);
    expected.initialise(2);
    const double expected_loss = run_once(expected, batch);
    for (const auto* backend : backend::backends_with_devices()) {
      const auto device = backend->open({});
      Program program(network, *device, 3, DType::f32);
      program.initialise(2);
      EXPECT_NEAR(run_once(program, batch), expected_loss, 1e-5 * expected_loss) << backend->name;
      for (const LayerId layer : layers_with_parameters(network)) {
        EXPECT_LT(
            relative_difference(program.plain_gradient(layer), expected.plain_gradient(layer)),
            1e-4)
            << backend->name << ", layer " << network.layer(layer).name;
      }
    }
  }
}

TEST(Program, UpdatesEveryParameterAsTheFormulaSays) {
  const Network network = chain_network();
  const backend::SgdStep sgd{
      .rate = 0.1F, .momentum = 0.5F, .weight_decay = 0.01F, .gradient_scale = 0.25F};
  for (const auto* backend : backend::backends_with_devices()) {
    const auto device = backend->open({});
    Program program(network, *device, 2, DType::f32);
    program.initialise(2);
    MadeData data(network, 2);
    std::vector<double> momentum(program.plain_parameters(LayerId(1)).size());
    for (int iteration = 0; iteration < 3; ++iteration) {
      run_once(program, data.next());
      const auto before = program.plain_parameters(LayerId(1));
      const auto gradient = program.plain_gradient(LayerId(1));
      program.update(sgd);
      const auto after = program.plain_parameters(LayerId(1));
      for (std::size_t i = 0; i < after.size(); ++i) {
        momentum[i] = 0.5 * momentum[i] + 0.25 * static_cast<double>(gradient[i]) +
                      0.01 * static_cast<double>(before[i]);
        EXPECT_NEAR(after[i], static_cast<double>(before[i]) - 0.1 * momentum[i], 1e-6);
      }
    }
  }
}

TEST(Program, KeepsNeighbouringLayersInOneSpan) {
  const Network network = branched_network();
  const auto device = open_backend("reference");
  Program program(network, *device, 1, DType::f32);
  for (const Schedule schedule : {Schedule::wait_free, Schedule::bucketed}) {
    const float* end = program.all_gradients().data();
    for (const Bucket& bucket : gradient_buckets(network, schedule)) {
      const auto gradients = program.gradients(bucket);
      EXPECT_GE(gradients.data(), end);
      EXPECT_GE(std::ssize(gradients), bucket.elements);
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(gradients.data()) % 64, 0U);
      end = gradients.data() + gradients.size();
    }
    EXPECT_LE(end, program.all_gradients().data() + program.all_gradients().size());
  }
}

TEST(Program, LeavesPaddingOfTheArraysZero) {
  const Network network = branched_network();
  for (const auto* backend : backend::backends_with_devices()) {
    const auto device = backend->open({});
    if (device->own_memory()) continue;  // the host cannot look
    Program program(network, *device, 2, DType::f32);
    program.initialise(1);
    MadeData data(network, 2);
    run_once(program, data.next());
    program.update({});
    std::size_t zeros = 0;
    for (const float x : program.all_parameters()) zeros += x == 0.0F ? 1 : 0;
    const auto padding =
        program.all_parameters().size() - static_cast<std::size_t>(network.parameter_count());
    EXPECT_GE(zeros, padding) << backend->name;
  }
}

TEST(Program, RefusesALabelThatIsNoClass) {
  const Network network = chain_network();
  const auto device = open_backend("reference");
  Program program(network, *device, 1, DType::f32);
  const std::vector<float> image(static_cast<std::size_t>(network.input().elements()));
  for (const std::int32_t label : {-1, 4}) {
    EXPECT_THROW(program.set_input(image, std::span(&label, 1)), ConfigError);
  }
}

TEST(Program, SaysHowMuchMemoryItNeedsBeforeItTakesIt) {
  const Network network = chain_network();
  const auto device = open_backend("reference");
  const Bytes need = Program(network, *device, 64, DType::f32).memory();
  EXPECT_NO_THROW(Program(network, *device, 64, DType::f32, need));
  const auto build = [&] { const Program program(network, *device, 64, DType::f32, 0.9 * need); };
  test::expect_contains(test::config_error(build), "64 images");
}

}  // namespace
}  // namespace dlscale::train
