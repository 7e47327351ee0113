#include "backend/compute/check.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "core/error.hpp"
#include "tests/backend/compute/layers.hpp"

/// A check that cannot fail proves nothing: here it meets devices that are wrong.
namespace dlscale::backend {
namespace {

using Damage = std::function<void(Pass, const Operands&)>;

/// Computes as another operation and then spoils the result.
class CrookedOperation final : public Operation {
 public:
  CrookedOperation(std::unique_ptr<Operation> honest, Damage damage)
      : honest_(std::move(honest)), damage_(std::move(damage)) {}
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
    honest_->run(pass, operands);
    damage_(pass, operands);
  }

 private:
  std::unique_ptr<Operation> honest_;
  Damage damage_;
};

class CrookedDevice final : public ComputeDevice {
 public:
  CrookedDevice(std::unique_ptr<ComputeDevice> honest, Damage damage)
      : honest_(std::move(honest)), damage_(std::move(damage)) {}
  [[nodiscard]] std::string_view name() const override { return "crooked"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override { return {}; }
  [[nodiscard]] Buffer allocate(std::size_t bytes) override { return honest_->allocate(bytes); }
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
  void synchronize() override {}

 private:
  std::unique_ptr<ComputeDevice> honest_;
  Damage damage_;
};

std::unique_ptr<ComputeDevice> open_reference() {
  return family<ComputeBackend>().find("reference")->open({});
}

const Convolution convolution{.out_channels = 4, .kernel_h = 3, .kernel_w = 3, .pad = 1};

OperationCheck check_crooked(Pass pass, const Damage& damage, const LayerKind& kind = convolution) {
  CrookedDevice device(open_reference(), damage);
  const auto reference = open_reference();
  const OperationSpec spec = plain_spec(device, make_layer(kind, {{3, 5, 5}}), 6, DType::f32);
  return check_operation(device, *reference, spec, pass, 1);
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
