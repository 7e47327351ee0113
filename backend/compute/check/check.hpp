#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backend/compute/check/reference_answers.hpp"
#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// Error of an operation of a device relative to the reference.
struct OperationCheck {
  /// Largest |a - b| / max(|b|, rms(b)) over the elements of all tensors that the pass writes; b is
  /// the reference's. The error is relative to the element, or to its tensor's root mean square
  /// where that is larger, as terms of that size have cancelled. Infinite where a is not finite, or
  /// differs from a b that is all zero.
  double max_relative_error = 0;
  /// Mean of the same quantity over all elements of these tensors.
  double mean_relative_error = 0;
  /// The tensor with the largest error: "output", "input gradient 0", "weight gradient".
  std::string worst;
};

/// Runs one pass of an operation on `device` and on `reference` (f32 values, sums in double) and
/// compares the results in plain order. Both get the same normally distributed data, rounded to the
/// precision of the operation. Backward passes run forward first; backward_data of a layer with a
/// ReLU runs backward_filter before it. The output of `device` decides for both what such a ReLU
/// lets through backward, so a sign that rounding flips does not count as an error.
///
/// A check at batch 64 must not cost the reference more than three images. So kinds that treat
/// images independently get an output gradient that is zero except in the first image, the last and
/// one between them that `seed` chooses. Only these three are computed by the reference and
/// compared; an error in other images only is not found. A batch of up to three runs in full. So do
/// batch norm, whose images depend on each other, and dropout, whose mask depends on the place in
/// the batch.
///
/// A sum over images (the gradient of weights and biases) is compared for all filters in this way.
/// It is compared once more with the gradient of all images, for up to 16 filters of up to four
/// groups (FilterSample). The second comparison finds an algorithm that leaves out images, the
/// first one that leaves out filters. The mean errors are those of the sums over all images; the
/// largest is that of both.
///
/// The inputs of `spec` have the layouts of `device`. Throws Unsupported as `create` does, and if
/// the operation does not have the pass.
OperationCheck check_operation(ComputeDevice& device, ComputeDevice& reference,
                               const OperationSpec& spec, Pass pass, std::uint64_t seed);

/// The same check for an operation that was not made by `device.create(spec)`. `answers` keeps the
/// reference's answers to convolutions for the next check; all of them must come from this
/// reference.
OperationCheck check_operation(ComputeDevice& device, ComputeDevice& reference,
                               const OperationSpec& spec, Operation& operation, Pass pass,
                               std::uint64_t seed, ReferenceAnswers* answers = nullptr);

/// Largest error of a tensor's elements, as defined in OperationCheck.
double largest_error(const std::vector<float>& got, const std::vector<float>& expected);

/// Upper limit of `max_relative_error` for a correct answer, whatever the layer:
///
///   f32   2e-4, for sums of up to a million terms
///   tf32  2e-3
///   bf16  5e-2, for overlapping windows whose gradients are added with 8 bits of significand
///   f16   1e-2, with 11 bits
///
/// n terms added one after the other in f32 err by about 6e-8 · sqrt(n / 6) of the sum's typical
/// size. The worst of thousands of sums errs by four times that. Winograd's algorithm in f32 loses
/// more in its transforms: F(6x6,3x3) erred by at most 1.3e-4 in the layers of the networks. This
/// is not a bound: the check may wrongly reject a layer with far longer sums. The data are rounded
/// to tf32, but a library may also round intermediate results (the transforms of Winograd's
/// algorithm).
double allowed_error(DType dtype);

}  // namespace dlscale::backend
