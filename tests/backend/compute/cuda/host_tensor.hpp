#pragma once
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"
#include "backend/compute/precision.hpp"

namespace dlscale::backend::cuda {

using Values = std::vector<float>;

/// A tensor in host memory whose values are read and written one by one.
class HostTensor {
 public:
  HostTensor(const Dims& dims, DType dtype, Order order)
      : desc_(tensor_desc(dims, dtype, order)),
        strides_(strides(dims, order)),
        memory_(allocate_host(desc_.layout.bytes)) {}

  [[nodiscard]] Tensor tensor() const { return {desc_, memory_.get()}; }

  /// Calls visit(n, c, h, w) for all elements in plain order.
  template <class Visit>
  void for_each(Visit visit) const {
    const Dims& dims = desc_.dims;
    for (std::int64_t n = 0; n < dims[0]; ++n) {
      for (std::int64_t c = 0; c < dims[1]; ++c) {
        for (std::int64_t h = 0; h < dims[2]; ++h) {
          for (std::int64_t w = 0; w < dims[3]; ++w) visit(n, c, h, w);
        }
      }
    }
  }

  void set(const Values& plain) {
    std::size_t i = 0;
    for_each([&](auto... at) { put(offset(at...), plain.at(i++)); });
  }
  [[nodiscard]] Values get() const {
    Values plain;
    for_each([&](auto... at) { plain.push_back(take(offset(at...))); });
    return plain;
  }

 private:
  [[nodiscard]] std::int64_t offset(std::int64_t n, std::int64_t c, std::int64_t h,
                                    std::int64_t w) const {
    return n * strides_[0] + c * strides_[1] + h * strides_[2] + w * strides_[3];
  }
  void put(std::int64_t at, float value) {
    if (element_bytes(desc_.dtype) == 4) {
      tensor().as<float>()[at] = value;
    } else {
      tensor().as<std::uint16_t>()[at] =
          desc_.dtype == DType::bf16 ? to_bfloat16(value) : to_half(value);
    }
  }
  [[nodiscard]] float take(std::int64_t at) const {
    if (element_bytes(desc_.dtype) == 4) return tensor().as<float>()[at];
    const std::uint16_t bits = tensor().as<std::uint16_t>()[at];
    return desc_.dtype == DType::bf16 ? from_bfloat16(bits) : from_half(bits);
  }

  TensorDesc desc_;
  std::array<std::int64_t, 4> strides_;
  Buffer memory_;
};

/// In memory: tf32 is stored as f32.
inline float stored(DType dtype, float value) {
  return dtype == DType::tf32 ? value : rounded(dtype, value);
}

inline Values stored(DType dtype, Values values) {
  for (float& value : values) value = stored(dtype, value);
  return values;
}

inline constexpr std::array both_orders{Order::nchw, Order::nhwc};

inline std::string name_of(DType dtype, Order order) {
  return std::string(dtype_name(dtype)) + (order == Order::nchw ? "_nchw" : "_nhwc");
}

/// A test for each precision and order.
class InDTypeAndOrder : public testing::TestWithParam<std::tuple<DType, Order>> {
 public:
  static std::string name(const testing::TestParamInfo<ParamType>& tested) {
    return std::apply(name_of, tested.param);
  }
  static auto all() {
    return testing::Combine(testing::ValuesIn(all_dtypes), testing::ValuesIn(both_orders));
  }

 protected:
  DType dtype_ = std::get<DType>(GetParam());
  Order order_ = std::get<Order>(GetParam());
};

/// Tiles with and without edges, lines along either side, single rows and columns, and vectors.
inline const std::vector<Dims> shapes{{2, 64, 8, 8},  {3, 70, 9, 13}, {2, 3, 11, 7},
                                      {2, 130, 2, 3}, {1, 16, 4, 4},  {2, 1, 5, 9},
                                      {4, 37, 1, 1},  {3, 15, 4, 4},  {2, 200, 15, 17}};

}  // namespace dlscale::backend::cuda
