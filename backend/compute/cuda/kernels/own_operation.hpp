#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>
#include <vector>

#include "backend/compute/compute.hpp"
#include "backend/compute/cuda/runtime/host_device_code.hpp"
#include "backend/compute/cuda/runtime/layout.hpp"

namespace dlscale::backend::cuda {

/// Base of operations that run our own kernels: forward and backward_data, with one output in the
/// device's order.
class OwnOperation : public Operation {
 public:
  [[nodiscard]] const TensorDesc& output() const final { return output_; }
  [[nodiscard]] const std::vector<Parameter>& parameters() const final { return parameters_; }
  [[nodiscard]] std::size_t state_bytes() const final { return state_bytes_; }
  [[nodiscard]] std::size_t scratch_bytes() const final { return scratch_bytes_; }
  [[nodiscard]] bool has(Pass pass) const override;
  [[nodiscard]] std::string implementation(Pass pass) const final;

 protected:
  /// `kernel` is the name that implementation() returns. Throws Unsupported if a tensor has 2^31
  /// elements or more, which the kernels cannot count.
  OwnOperation(const OperationSpec& spec, Order order, std::string kernel);
  void set_output(const TensorDesc& output) { output_ = output; }
  void add_parameter(ParameterRole role, std::int64_t elements);
  void set_state(std::size_t bytes) { state_bytes_ = bytes; }
  void set_scratch(std::size_t bytes) { scratch_bytes_ = bytes; }
  [[nodiscard]] Order order() const { return order_; }
  [[nodiscard]] DType dtype() const { return dtype_; }

 private:
  std::string kernel_;
  Order order_;
  DType dtype_;
  TensorDesc output_;
  std::vector<Parameter> parameters_;
  std::size_t state_bytes_ = 0;
  std::size_t scratch_bytes_ = 0;
};

/// Calls call(T()) with the type of the elements of a tensor of `dtype` in memory.
template <class Call>
void with_element(DType dtype, const Call& call) {
  switch (dtype) {
    case DType::f32:
    case DType::tf32:
      return call(float{});
    case DType::bf16:
      return call(Bfloat16{});
    case DType::f16:
      return call(Half{});
  }
  fail_expectation("a known DType");
}

bool all_aligned(std::initializer_list<const void*> addresses, std::size_t bytes);

/// Calls call(std::integral_constant<int, width>()) with the number of elements of T that a thread
/// may take at once. It is as many as 16 bytes hold if all addresses are aligned and `together`,
/// the number of contiguous elements, is a multiple of it. Otherwise it is one.
template <class T, class Call>
void with_width(std::int64_t together, std::initializer_list<const void*> addresses,
                const Call& call) {
  constexpr int width = full_width<T>;
  if (together % width == 0 && all_aligned(addresses, 16)) {
    call(std::integral_constant<int, width>());
  } else {
    call(std::integral_constant<int, 1>());
  }
}

}  // namespace dlscale::backend::cuda
