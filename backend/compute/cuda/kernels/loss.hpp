#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include "backend/compute/cuda/kernels/own_operation.hpp"

namespace dlscale::backend::cuda {

/// log Σ exp(x), stored as the largest x and the sum relative to it, so that nothing overflows.
struct LogSum {
  float largest;
  float sum;

  DLSCALE_HOST_DEVICE static LogSum none() { return {-std::numeric_limits<float>::infinity(), 0}; }
  DLSCALE_HOST_DEVICE void add(LogSum other) {
    if (other.sum == 0 || other.largest == none().largest) return;
    if (sum == 0) {
      *this = other;
    } else if (other.largest > largest) {
      sum = sum * std::exp(largest - other.largest) + other.sum;
      largest = other.largest;
    } else {
      sum += other.sum * std::exp(other.largest - largest);
    }
  }
  /// -log p of x. Subtracts first, as the sum may be far from 0.
  [[nodiscard]] DLSCALE_HOST_DEVICE float loss(float x) const {
    return std::log(sum) + (largest - x);
  }
  [[nodiscard]] DLSCALE_HOST_DEVICE float p(float x) const { return std::exp(x - largest) / sum; }
};

/// x of the label; NaN for a label that is not a class, so that the error shows.
template <class T>
DLSCALE_HOST_DEVICE float label_value(const T* x, std::int32_t label, std::int32_t classes) {
  if (label < 0 || label >= classes) return std::numeric_limits<float>::quiet_NaN();
  return to_float(x[label]);
}

/// y[n] = -log p[label], and the sum for backward. One team per image.
template <class T>
struct LossForward {
  static constexpr int phases = 10;  ///< read, halve eight times, write
  struct Shared {
    LogSum sums[team_size];
  };

  const T* x;
  const std::int32_t* labels;
  LogSum* sums;
  float* y;
  std::int32_t classes;

  DLSCALE_HOST_DEVICE void run(int phase, const Place& place, Shared& shared) const {
    const T* row = x + std::int64_t{place.x} * classes;
    LogSum& own = shared.sums[place.thread];
    if (phase == 0) {
      LogSum sum = LogSum::none();
      for (auto c = static_cast<std::int32_t>(place.thread); c < classes;
           c += static_cast<std::int32_t>(team_size)) {
        sum.add({to_float(row[c]), 1});
      }
      own = sum;
    } else if (phase < phases - 1) {
      const std::uint32_t step = team_size >> phase;
      if (place.thread < step) own.add(shared.sums[place.thread + step]);
    } else if (place.thread == 0) {
      sums[place.x] = own;
      y[place.x] = own.loss(label_value(row, labels[place.x], classes));
    }
  }
};

/// dx = factor · (p - onehot(label))
template <class T>
struct LossBackward {
  const T* x;
  const std::int32_t* labels;
  const LogSum* sums;
  T* dx;
  float factor;
  Divisor classes;

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const auto [image, c] = classes.split(thread);
    const float p = sums[image].p(to_float(x[thread]));
    const bool is_label = static_cast<std::int32_t>(c) == labels[image];
    dx[thread] = from_float<T>(factor * (is_label ? p - 1 : p));
  }
};

/// The state holds the labels, which are on the host until forward, and the sums.
template <class Launcher>
class LossOperation final : public OwnOperation {
 public:
  LossOperation(Launcher launcher, const OperationSpec& spec, Order order,
                const SoftmaxCrossEntropy& kind)
      : OwnOperation(spec, order, "softmax_cross_entropy"),
        launcher_(std::move(launcher)),
        images_(spec.batch),
        classes_(spec.layer.input_shapes.front().elements()),
        factor_(static_cast<float>(kind.loss_weight / spec.batch)) {
    set_output(tensor_desc(output_dims(spec), DType::f32, order));
    set_state(label_bytes() + static_cast<std::size_t>(images_) * sizeof(LogSum));
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    auto* labels = reinterpret_cast<std::int32_t*>(operands.state);
    auto* sums = reinterpret_cast<LogSum*>(operands.state + label_bytes());
    if (pass == Pass::forward) upload(operands);
    with_element(dtype(), [&]<class T>(T) {
      const T* x = operands.inputs[0].template as<const T>();
      if (pass == Pass::forward) {
        const LossForward<T> code{x, labels, sums, operands.output.template as<float>(),
                                  static_cast<std::int32_t>(classes_)};
        launcher_.teams("loss", code, images_, 1);
      } else {
        const LossBackward<T> code{x,       labels,
                                   sums,    operands.input_gradients[0].template as<T>(),
                                   factor_, Divisor(classes_)};
        launcher_.each("loss gradient", code, images_ * classes_);
      }
    });
  }

 private:
  /// In a CUDA graph this becomes a copy that reads the labels anew at every replay.
  void upload(const Operands& operands) const {
    EXPECT(operands.labels.size() == static_cast<std::size_t>(images_));
    for (const std::int32_t label : operands.labels) EXPECT(label >= 0 && label < classes_);
    launcher_.upload(operands.labels.data(), operands.state, operands.labels.size_bytes());
  }
  /// Padded to an even number of labels, so that the sums after them are aligned.
  [[nodiscard]] std::size_t label_bytes() const {
    return static_cast<std::size_t>(images_ + images_ % 2) * sizeof(std::int32_t);
  }

  Launcher launcher_;
  std::int64_t images_;
  std::int64_t classes_;
  float factor_;
};

}  // namespace dlscale::backend::cuda
