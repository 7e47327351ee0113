#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <utility>

#include "backend/compute/cuda/kernels/own_operation.hpp"
#include "backend/compute/cuda/runtime/map.hpp"
#include "backend/compute/random_bits.hpp"

namespace dlscale::backend::cuda {

/// Enqueues a Map of tensors of the same dims, order and precision T.
template <class T, int inputs, class Launcher, class Function>
void launch_map(const Launcher& launcher, std::string_view name,
                const std::array<const std::byte*, inputs>& in, std::byte* out,
                std::int64_t elements, Function function) {
  const auto fill = [&]<int width>(std::integral_constant<int, width>) {
    Map<T, T, inputs, width, Function> map{
        {}, reinterpret_cast<T*>(out), static_cast<std::uint64_t>(elements), function};
    for (int i = 0; i < inputs; ++i) map.in[i] = reinterpret_cast<const T*>(in[i]);
    launcher.each(name, map, map.threads());
  };
  if constexpr (inputs == 1) {
    with_width<T>(0, {in[0], out}, fill);
  } else {
    with_width<T>(0, {in[0], in[1], out}, fill);
  }
}

/// Enqueues y = max(x, 0), possibly in place.
template <class Launcher>
void launch_rectify(const Launcher& launcher, const Tensor& x, const Tensor& y) {
  with_element(y.desc.dtype, [&]<class T>(T) {
    launch_map<T, 1>(launcher, "relu", {x.data}, y.data, y.desc.elements(), Rectified{});
  });
}

/// Enqueues dx = dy where y > 0, else 0.
template <class Launcher>
void launch_relu_gradient(const Launcher& launcher, const Tensor& y, const Tensor& dy,
                          const Tensor& dx) {
  with_element(y.desc.dtype, [&]<class T>(T) {
    launch_map<T, 2>(launcher, "relu gradient", {y.data, dy.data}, dx.data, y.desc.elements(),
                     RectifiedGradient{});
  });
}

/// y = max(x, 0); dx = dy where y > 0.
template <class Launcher>
class ReluOperation final : public OwnOperation {
 public:
  ReluOperation(Launcher launcher, const OperationSpec& spec, Order order)
      : OwnOperation(spec, order, "relu"), launcher_(std::move(launcher)) {}

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    if (pass == Pass::backward_data) {
      return launch_relu_gradient(launcher_, operands.output, operands.output_gradient,
                                  operands.input_gradients[0]);
    }
    launch_rectify(launcher_, operands.inputs[0], operands.output);
  }

 private:
  Launcher launcher_;
};

/// Enqueues into += value; same dims, order and precision.
template <class Launcher>
void launch_accumulate(const Launcher& launcher, const Tensor& value, const Tensor& into) {
  EXPECT(value.desc.dims == into.desc.dims && value.desc.dtype == into.desc.dtype &&
         value.desc.layout == into.desc.layout);
  with_element(into.desc.dtype, [&]<class T>(T) {
    launch_map<T, 2>(launcher, "accumulate", {into.data, value.data}, into.data,
                     into.desc.elements(), Added{});
  });
}

/// Most terms of one sum.
inline constexpr int most_terms = 32;

/// The sum of up to most_terms tensors, in f32.
template <class T, int width, class Finish>
struct SumOfMany {
  const T* in[most_terms];
  int terms;
  T* out;
  std::uint64_t elements;
  Finish finish;

  [[nodiscard]] std::int64_t threads() const {
    return static_cast<std::int64_t>((elements + width - 1) / width);
  }

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const std::uint64_t first = std::uint64_t{thread} * width;
    if (first + width > elements) {
      for (std::uint64_t i = first; i < elements; ++i) add<1>(i);
    } else {
      add<width>(first);
    }
  }

 private:
  template <int count>
  DLSCALE_HOST_DEVICE void add(std::uint64_t at) const {
    float sums[count] = {};
    for (int term = 0; term < terms; ++term) {
      const Pack<T, count> pack = load<count>(in[term] + at);
      DLSCALE_UNROLL
      for (int i = 0; i < count; ++i) sums[i] += to_float(pack.values[i]);
    }
    Pack<T, count> result;
    DLSCALE_UNROLL
    for (int i = 0; i < count; ++i) result.values[i] = from_float<T>(finish({sums[i]}));
    store(result, out + at);
  }
};

/// Enqueues out = finish(Σ inputs). At most most_terms inputs.
template <class Launcher, class PairFunction, class Finish>
void launch_sum(const Launcher& launcher, std::string_view name, std::span<const Tensor> inputs,
                const Tensor& out, PairFunction pair, Finish finish) {
  EXPECT(!inputs.empty() && inputs.size() <= std::size_t{most_terms});
  with_element(out.desc.dtype, [&]<class T>(T) {
    if (inputs.size() == 2) {
      return launch_map<T, 2>(launcher, name, {inputs[0].data, inputs[1].data}, out.data,
                              out.desc.elements(), pair);
    }
    bool aligned = all_aligned({out.data}, 16);
    for (const Tensor& input : inputs) aligned = aligned && all_aligned({input.data}, 16);
    with_width<T>(aligned ? 0 : 1, {}, [&]<int width>(std::integral_constant<int, width>) {
      SumOfMany<T, width, Finish> sum{{},
                                      static_cast<int>(inputs.size()),
                                      out.template as<T>(),
                                      static_cast<std::uint64_t>(out.desc.elements()),
                                      finish};
      for (std::size_t i = 0; i < inputs.size(); ++i) sum.in[i] = inputs[i].template as<const T>();
      launcher.each(name, sum, sum.threads());
    });
  });
}

/// Sum, followed by a ReLU if the layer has one. Backward is that of the ReLU, once for all inputs.
template <class Launcher>
class SumOperation final : public OwnOperation {
 public:
  SumOperation(Launcher launcher, const OperationSpec& spec, Order order)
      : OwnOperation(spec, order, spec.layer.relu ? "sum+relu" : "sum"),
        launcher_(std::move(launcher)),
        relu_(spec.layer.relu) {
    if (spec.inputs.size() > std::size_t{most_terms}) {
      throw Unsupported(describe(spec) + ": the kernel adds up to 32 tensors. Use several sums.");
    }
  }
  [[nodiscard]] bool has(Pass pass) const override {
    return pass == Pass::forward || (relu_ && pass == Pass::backward_data);
  }

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    if (pass == Pass::backward_data) {
      return launch_relu_gradient(launcher_, operands.output, operands.output_gradient,
                                  operands.input_gradients[0]);
    }
    if (relu_) {
      return launch_sum(launcher_, "sum and ReLU", operands.inputs, operands.output,
                        AddedAndRectified{}, Rectified{});
    }
    launch_sum(launcher_, "sum", operands.inputs, operands.output, Added{}, Identity{});
  }

 private:
  Launcher launcher_;
  bool relu_;
};

/// to = from · factor, with the factors of DropoutMask. It counts the elements in plain order:
/// element c of pixel p of image n is (n · channels + c) · pixels + p. If `seed_memory` is set, its
/// seed replaces the mask's; it is read when the kernel runs.
template <class T, int width, Order order>
struct DropoutCode {
  const T* from;
  T* to;
  DropoutMask mask;
  const std::uint64_t* seed_memory;
  Divisor packs;   ///< packs per pixel; unused for nchw
  Divisor pixels;  ///< pixels per image; unused for nchw

  DLSCALE_HOST_DEVICE void operator()(std::uint32_t thread) const {
    const std::uint64_t first = std::uint64_t{thread} * width;
    std::uint64_t index = first;
    std::uint64_t step = 1;
    if constexpr (order == Order::nhwc) {
      const auto [row, pack] = packs.split(thread);
      const auto [image, pixel] = pixels.split(row);
      const std::uint64_t channel = std::uint64_t{image} * packs.divisor() + pack;
      step = pixels.divisor();
      index = channel * width * step + pixel;
    }
    const DropoutMask drawn = seed_memory == nullptr ? mask : mask.with_seed(*seed_memory);
    const Pack<T, width> loaded = load<width>(from + first);
    Pack<T, width> result;
    DLSCALE_UNROLL
    for (int i = 0; i < width; ++i) {
      const float factor = drawn.factor(index + static_cast<std::uint64_t>(i) * step);
      result.values[i] = from_float<T>(to_float(loaded.values[i]) * factor);
    }
    store(result, to + first);
  }
};

template <class Launcher>
class DropoutOperation final : public OwnOperation {
 public:
  DropoutOperation(Launcher launcher, const OperationSpec& spec, Order order, const Dropout& kind)
      : OwnOperation(spec, order, "dropout"),
        launcher_(std::move(launcher)),
        probability_(kind.probability) {}

  void run(Pass pass, const Operands& operands) override {
    EXPECT(has(pass));
    if (pass == Pass::forward) {
      apply(operands, operands.inputs[0].data, operands.output.data);
    } else {
      apply(operands, operands.output_gradient.data, operands.input_gradients[0].data);
    }
  }

 private:
  void apply(const Operands& operands, const std::byte* from, std::byte* to) const {
    with_element(dtype(), [&]<class T>(T) {
      const bool by_channels = order() == Order::nhwc;
      const std::int64_t together = by_channels ? output().dims[1] : output().elements();
      with_width<T>(together, {from, to}, [&]<int width>(std::integral_constant<int, width>) {
        if (by_channels) {
          launch<T, width, Order::nhwc>(operands, from, to);
        } else {
          launch<T, width, Order::nchw>(operands, from, to);
        }
      });
    });
  }

  template <class T, int width, Order lies>
  void launch(const Operands& operands, const std::byte* from, std::byte* to) const {
    const auto& [images, channels, height, columns] = output().dims;
    const DropoutCode<T, width, lies> code{reinterpret_cast<const T*>(from),
                                           reinterpret_cast<T*>(to),
                                           DropoutMask(probability_, operands.seed),
                                           operands.seed_memory,
                                           Divisor(lies == Order::nhwc ? channels / width : 1),
                                           Divisor(height * columns)};
    launcher_.each("dropout", code, output().elements() / width);
  }

  Launcher launcher_;
  double probability_;
};

}  // namespace dlscale::backend::cuda
