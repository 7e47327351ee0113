#pragma once
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// Properties of an operation that every device needs before it chooses layouts.

using Dims = std::array<std::int64_t, 4>;

/// Throws Unsupported for what no device offers: kinds of layers without is_offered(), and an LRN
/// window without a middle channel. EXPECTs that the inputs have the batch, the shapes and the
/// precision that `spec` says.
void check_specification(const OperationSpec& spec);

/// Throws Unsupported: no device computes layers of this kind.
[[noreturn]] void refuse_kind(const OperationSpec& spec);

/// Number of input gradients that backward_data writes: one per input, but only one for all inputs
/// of a sum.
std::size_t input_gradient_count(const Layer& layer);

std::string_view layout_kind_name(LayoutKind kind);

/// The same operation on activations in the order `kind`. Throws Unsupported if the device does not
/// have that order.
OperationSpec laid_out(const ComputeDevice& device, OperationSpec spec, LayoutKind kind);

/// Throws Unsupported if a pass of an operation for a spec of laid_out() does not work in the
/// requested order. That is the case if it leaves its output in another one, or computes on
/// reordered copies.
void expect_laid_out(const ComputeDevice& device, const OperationSpec& spec,
                     const Operation& operation, Pass pass);

/// N × C × H × W of the output. A loss has N × 1 × 1 × 1.
Dims output_dims(const OperationSpec& spec);

/// O × I/groups × R × S of a convolution, O × C × H × W of a fully connected layer.
Dims weight_dims(const OperationSpec& spec);

/// N × 1 × 1 × 1.
Dims vector_dims(std::int64_t elements);

/// Description for messages: "layer conv1 (convolution of 8 x 3 x 227 x 227 to 8 x 96 x 55 x 55,
/// f32)".
std::string describe(const OperationSpec& spec);

}  // namespace dlscale::backend
