#include "backend/compute/cuda/cudnn_layers/pooling_ties.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "backend/compute/specification.hpp"
#include "core/base/error.hpp"
#include "tests/backend/compute/layers.hpp"

/// Max tied_poolings that give the gradient of equal elements away otherwise, run by loops on the
/// host.
namespace dlscale::backend::cuda {
namespace {

/// Of the places of the largest elements of a window, in order, those that get the gradient.
using Rule = std::function<std::vector<std::int64_t>(const std::vector<std::int64_t>& largest)>;

/// A max pooling of plain f32 tensors whose backward pass follows a rule.
class RuledPooling final : public Operation {
 public:
  RuledPooling(std::unique_ptr<Operation> honest, const OperationSpec& spec, Rule rule)
      : honest_(std::move(honest)),
        kind_(std::get<Pooling>(spec.layer.kind)),
        input_(spec.inputs.front().dims),
        rule_(std::move(rule)) {}

  [[nodiscard]] const TensorDesc& output() const override { return honest_->output(); }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override {
    return honest_->parameters();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return honest_->state_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return honest_->scratch_bytes(); }
  [[nodiscard]] bool has(Pass pass) const override { return honest_->has(pass); }
  [[nodiscard]] std::string implementation(Pass /*pass*/) const override { return "ruled"; }

  void run(Pass pass, const Operands& operands) override {
    if (pass == Pass::forward) return honest_->run(pass, operands);
    const float* x = operands.inputs[0].as<float>();
    const float* dy = operands.output_gradient.as<float>();
    float* dx = operands.input_gradients[0].as<float>();
    std::fill_n(dx, input_[0] * input_[1] * input_[2] * input_[3], 0.0F);
    const auto& [images, channels, rows, columns] = honest_->output().dims;
    for (std::int64_t plane = 0; plane < images * channels; ++plane) {
      for (std::int64_t p = 0; p < rows; ++p) {
        for (std::int64_t q = 0; q < columns; ++q) {
          const float gradient = dy[(plane * rows + p) * columns + q];
          for (const std::int64_t place : rule_(largest(x, plane, p, q))) dx[place] += gradient;
        }
      }
    }
  }

 private:
  [[nodiscard]] std::vector<std::int64_t> largest(const float* x, std::int64_t plane,
                                                  std::int64_t p, std::int64_t q) const {
    std::vector<std::int64_t> places;
    for (std::int64_t r = 0; r < kind_.kernel_h; ++r) {
      for (std::int64_t s = 0; s < kind_.kernel_w; ++s) {
        const std::int64_t h = p * kind_.stride - kind_.pad + r;
        const std::int64_t w = q * kind_.stride - kind_.pad + s;
        if (h < 0 || h >= input_[2] || w < 0 || w >= input_[3]) continue;
        const std::int64_t place = (plane * input_[2] + h) * input_[3] + w;
        if (!places.empty() && x[place] > x[places[0]]) places.clear();
        if (places.empty() || x[place] == x[places[0]]) places.push_back(place);
      }
    }
    return places;
  }

  std::unique_ptr<Operation> honest_;
  Pooling kind_;
  Dims input_;
  Rule rule_;
};

/// What is said of a rule; empty if nothing.
std::string words_for(const Rule& rule, const Pooling& kind) {
  const auto device = family<ComputeBackend>().find("reference")->open({});
  const OperationSpec spec = plain_spec(*device, make_layer(kind, {{3, 11, 8}}), 2, DType::f32);
  const auto own = device->create(spec);
  RuledPooling other(device->create(spec), spec, rule);
  try {
    expect_same_ties(*device, spec, *own, other);
  } catch (const Unsupported& refusal) {
    return refusal.what();
  }
  return "";
}

const std::vector<Pooling> tied_poolings{
    {.kernel_h = 3, .kernel_w = 3, .stride = 2, .pad = 1},
    {.kernel_h = 2, .kernel_w = 2, .stride = 2},
    {.kernel_h = 3, .kernel_w = 2, .stride = 1},
};

TEST(PoolingTies, GiveTheGradientToTheFirst) {
  for (const Pooling& kind : tied_poolings) {
    const auto first = [](const std::vector<std::int64_t>& largest) {
      return std::vector{largest.front()};
    };
    EXPECT_EQ(words_for(first, kind), "");
  }
}

TEST(PoolingTies, ThatGiveItElsewhereAreRefused) {
  for (const Pooling& kind : tied_poolings) {
    const auto last = [](const std::vector<std::int64_t>& largest) {
      return std::vector{largest.back()};
    };
    EXPECT_NE(words_for(last, kind).find("ruled gives the gradient to another one"),
              std::string::npos);
    const auto all = [](const std::vector<std::int64_t>& largest) { return largest; };
    EXPECT_NE(words_for(all, kind).find("ruled gives the gradient to several of them"),
              std::string::npos);
  }
}

/// It is no matter of equal elements, and must not be excused as one.
TEST(PoolingTies, ExcuseNoWrongGradient) {
  const auto beside = [](const std::vector<std::int64_t>& largest) {
    return std::vector{std::max<std::int64_t>(0, largest.front() - 1)};
  };
  const auto none = [](const std::vector<std::int64_t>& /*largest*/) {
    return std::vector<std::int64_t>{};
  };
  for (const Pooling& kind : tied_poolings) {
    EXPECT_EQ(words_for(beside, kind), "");
    EXPECT_EQ(words_for(none, kind), "");
  }
}

}  // namespace
}  // namespace dlscale::backend::cuda
