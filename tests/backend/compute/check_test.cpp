#include "backend/compute/check/check.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "backend/compute/host_device.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/devices.hpp"
#include "tests/backend/compute/layers.hpp"

/// A check that cannot fail proves nothing: here it meets devices that are wrong.
namespace dlscale::backend {
namespace {

using Damage = std::function<void(Pass, const Operands&)>;

/// Spoils nothing.
void leave(Pass /*pass*/, const Operands& /*operands*/) {}

/// Computes as another operation and then spoils the result, or before that what it reads.
class CrookedOperation final : public Operation {
 public:
  CrookedOperation(std::unique_ptr<Operation> honest, Damage damage, Damage before = leave)
      : honest_(std::move(honest)), damage_(std::move(damage)), before_(std::move(before)) {}
  [[nodiscard]] const TensorDesc& output() const override { return honest_->output(); }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override {
    return honest_->parameters();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return honest_->state_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return honest_->scratch_bytes(); }
  [[nodiscard]] bool has(Pass pass) const override { return honest_->has(pass); }
  [[nodiscard]] std::string implementation(Pass pass) const override {
    return honest_->implementation(pass);
  }
  void run(Pass pass, const Operands& operands) override {
    before_(pass, operands);
    honest_->run(pass, operands);
    damage_(pass, operands);
  }

 private:
  std::unique_ptr<Operation> honest_;
  Damage damage_;
  Damage before_;
};

class CrookedDevice final : public HostDevice {
 public:
  CrookedDevice(std::unique_ptr<ComputeDevice> honest, Damage damage)
      : honest_(std::move(honest)), damage_(std::move(damage)) {}
  [[nodiscard]] std::string_view name() const override { return "crooked"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override { return {}; }
  [[nodiscard]] TensorDesc plain(std::array<std::int64_t, 4> dims, DType dtype) const override {
    return honest_->plain(dims, dtype);
  }
  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& spec) override {
    return std::make_unique<CrookedOperation>(honest_->create(spec), damage_);
  }
  void copy(const Tensor& from, const Tensor& to) override { honest_->copy(from, to); }
  void accumulate(const Tensor& value, const Tensor& into) override {
    honest_->accumulate(value, into);
  }
  void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
              float* momentum, std::uint16_t* low) override {
    honest_->update(step, n, weights, gradients, momentum, low);
  }

 private:
  std::unique_ptr<ComputeDevice> honest_;
  Damage damage_;
};

const Convolution convolution{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};

OperationCheck check_crooked(Pass pass, const Damage& damage, const LayerKind& kind = convolution,
                             int batch = 6, std::uint64_t seed = 1) {
  CrookedDevice device(open_reference(), damage);
  const auto reference = open_reference();
  const OperationSpec spec = plain_spec(device, make_layer(kind, {{3, 5, 5}}), batch, DType::f32);
  return check_operation(device, *reference, spec, pass, seed);
}

/// Spoils one image of `tensor`.
void spoil_image(const Tensor& tensor, int image) {
  const std::int64_t elements = tensor.desc.elements() / tensor.desc.dims[0];
  tensor.as<float>()[image * elements + 1] += 0.5F;
}

/// Whether a check with this seed finds that one image is wrong, forward and backward.
bool finds(int wrong_image, int batch, std::uint64_t seed) {
  const auto output = [=](Pass, const Operands& operands) {
    spoil_image(operands.output, wrong_image);
  };
  const auto gradient = [=](Pass pass, const Operands& operands) {
    if (pass == Pass::backward_data) spoil_image(operands.input_gradients[0], wrong_image);
  };
  const double allowed = allowed_error(DType::f32);
  const bool forward =
      check_crooked(Pass::forward, output, convolution, batch, seed).max_relative_error > allowed;
  const bool backward =
      check_crooked(Pass::backward_data, gradient, convolution, batch, seed).max_relative_error >
      allowed;
  EXPECT_EQ(forward, backward);
  return forward;
}

TEST(CheckOperation, FindsNothingWhereNothingIsWrong) {
  for (const Pass pass : {Pass::forward, Pass::backward_data, Pass::backward_filter}) {
    EXPECT_EQ(check_crooked(pass, [](Pass, const Operands&) {}).max_relative_error, 0);
  }
}

TEST(CheckOperation, FindsOneWrongElementOfTheLastImage) {
  const OperationCheck check = check_crooked(Pass::forward, [](Pass, const Operands& operands) {
    const Tensor& y = operands.output;
    y.as<float>()[y.desc.elements() - 1] += 0.5F;
  });
  EXPECT_GT(check.max_relative_error, allowed_error(DType::f32));
  EXPECT_EQ(check.worst, "output");
}

TEST(CheckOperation, FindsAnyWrongImageOfABatchOfThree) {
  for (const int image : {0, 1, 2}) EXPECT_TRUE(finds(image, 3, 1)) << image;
}

TEST(CheckOperation, LooksAtOneMoreImageThanTheFirstAndTheLastWhicheverTheSeedChooses) {
  constexpr int batch = 6;
  std::set<int> found;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    int between = 0;
    for (int image = 1; image < batch - 1; ++image) {
      if (!finds(image, batch, seed)) continue;
      ++between;
      found.insert(image);
    }
    EXPECT_EQ(between, 1) << seed;
  }
  EXPECT_EQ(found, (std::set<int>{1, 2, 3, 4}));
}

/// A weight gradient that lacks the second of three images: the gradient of that image is cleared
/// before the device sums over the batch.
TEST(CheckOperation, FindsASumThatLacksAnImage) {
  CrookedDevice device(open_reference(), [](Pass pass, const Operands& operands) {
    if (pass != Pass::forward) return;  // runs before the backward pass
    const Tensor& gradient = operands.output_gradient;
    const std::int64_t elements = gradient.desc.elements() / 3;
    std::fill_n(gradient.as<float>() + elements, elements, 0.0F);
  });
  const auto reference = open_reference();
  const OperationSpec spec =
      plain_spec(device, make_layer(convolution, {{3, 5, 5}}), 3, DType::f32);
  const OperationCheck check = check_operation(device, *reference, spec, Pass::backward_filter, 1);
  EXPECT_GT(check.max_relative_error, allowed_error(DType::f32));
}

/// The layers whose weight gradients are sums over images, with more filters than a check of a
/// large batch computes for all images.
std::vector<Layer> layers_with_weights() {
  const Convolution plain{.out_channels = 10, .kernel_h = 3, .kernel_w = 3, .pad = 1};
  Convolution in_groups = plain;
  in_groups.groups = 2;
  Convolution depthwise = plain;
  depthwise.out_channels = depthwise.groups = 12;
  Layer with_relu = make_layer(plain, {{12, 4, 5}});
  with_relu.relu = true;
  return {make_layer(plain, {{12, 4, 5}}), make_layer(in_groups, {{12, 4, 5}}),
          make_layer(depthwise, {{12, 4, 5}}), std::move(with_relu),
          make_layer(FullyConnected{.outputs = 10}, {{12, 2, 2}})};
}

/// The weight gradient of seven images.
OperationCheck check_sum(const Layer& layer, const Damage& before, const Damage& after) {
  const auto device = open_reference();
  const auto reference = open_reference();
  const OperationSpec spec = plain_spec(*device, layer, 7, DType::f32);
  CrookedOperation operation(device->create(spec), after, before);
  return check_operation(*device, *reference, spec, operation, Pass::backward_filter, 1);
}

/// Before a backward pass.
Damage skip_image(int image) {
  return [=](Pass pass, const Operands& operands) {
    if (pass == Pass::forward) return;
    const Tensor& gradient = operands.output_gradient;
    const std::int64_t elements = gradient.desc.elements() / gradient.desc.dims[0];
    std::fill_n(gradient.as<float>() + image * elements, elements, 0.0F);
  };
}

TEST(CheckOperation, FindsNothingWrongWithAnHonestSumOverImages) {
  for (const Layer& layer : layers_with_weights()) {
    EXPECT_EQ(check_sum(layer, leave, leave).max_relative_error, 0);
  }
}

TEST(CheckOperation, FindsASumOverALargeBatchThatLacksAnyImage) {
  for (const Layer& layer : layers_with_weights()) {
    for (int image = 0; image < 7; ++image) {
      const OperationCheck check = check_sum(layer, skip_image(image), leave);
      EXPECT_GT(check.max_relative_error, allowed_error(DType::f32)) << image;
      EXPECT_GT(check.mean_relative_error, allowed_error(DType::f32)) << image;
    }
  }
}

TEST(CheckOperation, FindsAnyFilterThatASumOverALargeBatchLeavesOut) {
  for (const Layer& layer : layers_with_weights()) {
    const std::int64_t outputs = layer.output.channels;
    for (std::int64_t k = 0; k < outputs; ++k) {
      const auto skip_filter = [=](Pass pass, const Operands& operands) {
        if (pass != Pass::backward_filter) return;
        const Tensor& gradient = operands.parameter_gradients[0];
        const std::int64_t filter = gradient.desc.elements() / outputs;
        std::fill_n(gradient.as<float>() + k * filter, filter, 0.0F);
      };
      EXPECT_GT(check_sum(layer, leave, skip_filter).max_relative_error, allowed_error(DType::f32))
          << k;
    }
  }
}

TEST(CheckOperation, TellsTheErrorOfTheSumOverAllImagesOnAverage) {
  const Layer layer = layers_with_weights().front();
  const auto enlarge = [](Pass pass, const Operands& operands) {
    if (pass != Pass::backward_filter) return;
    const Tensor& gradient = operands.parameter_gradients[0];
    for (std::int64_t i = 0; i < gradient.desc.elements(); ++i) gradient.as<float>()[i] *= 1.01F;
  };
  // 1 % of what is larger than typical; of what is smaller, a part of that; 16 · 9 weights and
  // 4 biases, which are right.
  const OperationCheck check = check_sum(layer, leave, enlarge);
  EXPECT_NEAR(check.max_relative_error, 0.01, 1e-5);
  EXPECT_LT(check.mean_relative_error, 0.01 * 144 / 148);
  EXPECT_GT(check.mean_relative_error, 0.005);
}

/// Checks a convolution of 3 x `size` x `size`, whose reference counts its runs in `asked`.
OperationCheck check_remembering(ReferenceAnswers& answers, int& asked, Pass pass,
                                 const Damage& damage, int size = 5) {
  CrookedDevice device(open_reference(), damage);
  CrookedDevice reference(open_reference(), [&](Pass, const Operands&) { ++asked; });
  const OperationSpec spec =
      plain_spec(device, make_layer(convolution, {{3, size, size}}), 6, DType::f32);
  return check_operation(device, reference, spec, *device.create(spec), pass, 1, &answers);
}

TEST(CheckOperation, AsksTheReferenceOnceForOneAnswerAndStillFindsWhatIsWrong) {
  ReferenceAnswers answers;
  int asked = 0;
  const Damage none = [](Pass, const Operands&) {};
  const Damage wrong = [](Pass, const Operands& operands) {
    operands.output.as<float>()[0] += 0.5F;
  };
  EXPECT_EQ(check_remembering(answers, asked, Pass::forward, none).max_relative_error, 0);
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(check_remembering(answers, asked, Pass::forward, none).max_relative_error, 0);
  EXPECT_GT(check_remembering(answers, asked, Pass::forward, wrong).max_relative_error,
            allowed_error(DType::f32));
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(check_remembering(answers, asked, Pass::forward, none, 6).max_relative_error, 0);
  EXPECT_EQ(asked, 2) << "another size";
  EXPECT_EQ(check_remembering(answers, asked, Pass::backward_data, none).max_relative_error, 0);
  EXPECT_EQ(asked, 4) << "another pass: forward and backward";
  EXPECT_EQ(check_remembering(answers, asked, Pass::backward_filter, none).max_relative_error, 0);
  EXPECT_EQ(asked, 8) << "of all filters for some images, of some for all: forward and backward";
  EXPECT_EQ(check_remembering(answers, asked, Pass::backward_filter, none).max_relative_error, 0);
  EXPECT_EQ(asked, 8);
}

TEST(ReferenceAnswers, KeepsThoseAskedForLast) {
  ReferenceAnswers answers(Bytes(8));  // two values
  int computed = 0;
  const auto get = [&](const std::string& key) {
    const auto one = [&]() -> ReferenceAnswers::Answer {
      ++computed;
      return {{key, ReferenceAnswers::Tensor::Extent::batch, {1.0F}}};
    };
    return answers.get(key, one).front().name;
  };
  EXPECT_EQ(get("a"), "a");
  EXPECT_EQ(get("b"), "b");
  EXPECT_EQ(get("a"), "a");
  EXPECT_EQ(computed, 2);
  EXPECT_EQ(get("c"), "c");  // b has to go
  EXPECT_EQ(get("a"), "a");
  EXPECT_EQ(computed, 3);
  EXPECT_EQ(get("b"), "b");
  EXPECT_EQ(computed, 4);
}

TEST(CheckOperation, FindsAWrongGradientOfTheInput) {
  const OperationCheck check =
      check_crooked(Pass::backward_data, [](Pass pass, const Operands& operands) {
        if (pass == Pass::backward_data) operands.input_gradients[0].as<float>()[7] *= 1.01F;
      });
  EXPECT_GT(check.max_relative_error, allowed_error(DType::f32));
  EXPECT_EQ(check.worst, "input gradient 0");
}

TEST(CheckOperation, NamesTheParameterWhoseGradientIsWrong) {
  const OperationCheck check =
      check_crooked(Pass::backward_filter, [](Pass pass, const Operands& operands) {
        if (pass == Pass::backward_filter) operands.parameter_gradients[1].as<float>()[2] = 0;
      });
  EXPECT_GT(check.max_relative_error, allowed_error(DType::f32));
  EXPECT_EQ(check.worst, "bias gradient");
}

TEST(CheckOperation, ChecksTheParameterGradientsOfBatchNormWithItsData) {
  const auto damage = [](Pass pass, const Operands& operands) {
    if (pass == Pass::backward_data) operands.parameter_gradients[0].as<float>()[2] = 0;
  };
  EXPECT_EQ(check_crooked(Pass::backward_data, damage, BatchNorm{}).worst, "scale gradient");
}

TEST(CheckOperation, TakesWhatIsNoNumberForInfinitelyWrong) {
  const OperationCheck check = check_crooked(
      Pass::forward, [](Pass, const Operands& operands) { operands.output.as<float>()[0] = NAN; });
  EXPECT_EQ(check.max_relative_error, std::numeric_limits<double>::infinity());
}

TEST(CheckOperation, FindsGradientsThatAreAddedInsteadOfWritten) {
  const OperationCheck check =
      check_crooked(Pass::backward_filter, [](Pass pass, const Operands& operands) {
        if (pass == Pass::forward) return;
        for (int i = 0; i < 4; ++i) operands.parameter_gradients[1].as<float>()[i] += 7;
      });
  EXPECT_GT(check.max_relative_error, 0.1);
}

TEST(CheckOperation, RefusesAPassThatTheOperationLacks) {
  const auto nothing = [](Pass, const Operands&) {};
  EXPECT_THROW(check_crooked(Pass::backward_filter, nothing, Relu{}), Unsupported);
}

}  // namespace
}  // namespace dlscale::backend
