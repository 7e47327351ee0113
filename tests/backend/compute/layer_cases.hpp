#pragma once
#include <ostream>
#include <string>
#include <vector>

#include "tests/backend/compute/layers.hpp"

/// Layers that every backend and our own kernels compute as `reference` does.
namespace dlscale::backend {

struct Case {
  std::string name;
  LayerKind kind;
  std::vector<ImageShape> inputs;
  int batch = 3;  ///< all images are compared, with gradients in all of them
  bool relu = false;

  [[nodiscard]] Layer layer() const {
    Layer made = make_layer(kind, inputs);
    made.relu = relu;
    return made;
  }
};

inline std::ostream& operator<<(std::ostream& out, const Case& shown) {
  return out << shown.name;
}

inline std::vector<Case> operator+(std::vector<Case> cases, const std::vector<Case>& more) {
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

/// The same cases, fused with the ReLU that follows.
inline std::vector<Case> with_relu(std::vector<Case> cases) {
  for (Case& each : cases) each.relu = true;
  return cases;
}

inline Pooling pooling(PoolingKind kind, int kernel, int stride, int pad) {
  return {.kind = kind, .kernel_h = kernel, .kernel_w = kernel, .stride = stride, .pad = pad};
}

inline Pooling hanging_over(Pooling kind) {
  kind.ceil_mode = true;
  return kind;
}

inline constexpr Lrn strong_lrn{.size = 5, .alpha = 1, .beta = 0.75, .k = 1};

inline std::vector<Case> poolings() {
  constexpr auto max = PoolingKind::max;
  constexpr auto average = PoolingKind::average;
  return {
      {"MaxPooling3x3Stride2", pooling(max, 3, 2, 0), {{32, 11, 9}}},
      {"MaxPoolingLeavesPixelsOut", pooling(max, 2, 2, 0), {{16, 7, 7}}},
      {"MaxPoolingPadded", pooling(max, 3, 1, 1), {{32, 7, 8}}},
      {"MaxPoolingPaddedStride2", pooling(max, 3, 2, 1), {{64, 12, 13}}},
      {"MaxPoolingCeilMode", hanging_over(pooling(max, 3, 2, 0)), {{16, 8, 6}}},
      {"MaxPooling17Channels", pooling(max, 3, 2, 1), {{17, 9, 9}}},
      {"AveragePooling5x5Stride3", pooling(average, 5, 3, 0), {{32, 14, 13}}},
      {"AveragePoolingPadded", pooling(average, 3, 2, 1), {{16, 9, 9}}},
      {"AveragePoolingCeilMode", hanging_over(pooling(average, 3, 2, 0)), {{16, 8, 8}}},
      {"AveragePoolingCeilModePadded", hanging_over(pooling(average, 3, 2, 1)), {{16, 10, 10}}},
      {"AveragePoolingGlobal", Pooling{.kind = average}, {{64, 7, 7}}},
      {"AveragePooling17Channels", pooling(average, 2, 2, 0), {{17, 6, 6}}},
  };
}

inline std::vector<Case> other_layers() {
  return {
      {"Relu", Relu{}, {{32, 7, 7}}},
      {"Relu17Channels", Relu{}, {{17, 5, 5}}},
      {"Lrn", Lrn{}, {{32, 5, 7}}},
      {"LrnStrong", strong_lrn, {{32, 6, 6}}},
      {"LrnOfKrizhevsky", Lrn{.size = 5, .alpha = 5e-4, .beta = 0.75, .k = 2}, {{96, 5, 5}}},
      {"LrnOfSize3", Lrn{.size = 3, .alpha = 1, .beta = 0.5, .k = 1}, {{16, 5, 5}}},
      {"Lrn17Channels", strong_lrn, {{17, 5, 5}}},
      {"BatchNorm", BatchNorm{}, {{64, 7, 7}}},
      {"BatchNorm17Channels", BatchNorm{}, {{17, 6, 6}}},
      {"BatchNormLargeEpsilon", BatchNorm{.epsilon = 0.5}, {{16, 4, 4}}},
      {"Dropout", Dropout{}, {{32, 5, 5}}},
      {"DropoutOfFew", Dropout{.probability = 0.1}, {{17, 4, 4}}},
      {"DropoutOfVectors", Dropout{.probability = 0.7}, {{100, 1, 1}}},
      {"Concat", Concat{}, {{16, 6, 6}, {32, 6, 6}, {64, 6, 6}}},
      {"ConcatOddChannels", Concat{}, {{17, 5, 5}, {3, 5, 5}, {16, 5, 5}}},
      {"ConcatHalfBlocks", Concat{}, {{24, 5, 5}, {8, 5, 5}}},
      {"Sum", Sum{}, {{32, 6, 6}, {32, 6, 6}}},
      {"SumOfThree17Channels", Sum{}, {{17, 5, 5}, {17, 5, 5}, {17, 5, 5}}},
      {"Loss", SoftmaxCrossEntropy{}, {{10, 1, 1}}, 5},
      {"LossWeighted", SoftmaxCrossEntropy{.loss_weight = 0.3}, {{1000, 1, 1}}, 4},
  };
}

inline std::vector<Case> layers_with_relu() {
  return with_relu({{"BatchNormRelu", BatchNorm{}, {{64, 7, 7}}},
                    {"BatchNormRelu17Channels", BatchNorm{}, {{17, 6, 6}}},
                    {"SumRelu", Sum{}, {{32, 6, 6}, {32, 6, 6}}},
                    {"SumReluOfThree17Channels", Sum{}, {{17, 5, 5}, {17, 5, 5}, {17, 5, 5}}}});
}

}  // namespace dlscale::backend
