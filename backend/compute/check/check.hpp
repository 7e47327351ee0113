#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "backend/compute/check/reference_answers.hpp"
#include "backend/compute/compute.hpp"

namespace dlscale::backend {

/// How far an operation of a device is from the reference.
struct OperationCheck {
  /// The largest of |a - b| / max(|b|, rms(b)) over the elements of all tensors the pass writes, b
  /// the reference's: relative to the element itself, but to the root mean square of its tensor
  /// where it is smaller than that, as terms of that size have cancelled. Infinite where a differs
  /// from a b that is all zero, or is not finite.
  double max_relative_error = 0;
  /// The same on average over all elements of these tensors.
  double mean_relative_error = 0;
  std::string worst;  ///< the tensor it belongs to: "output", "input gradient 0", "weight gradient"
};

/// Runs one pass of an operation on `device` and on `reference` (f32 values, sums in double) with
/// the same normally distributed data, rounded to the precision of the operation first, and
/// compares the results in plain order. backward passes run forward first, and backward_data of a
/// layer with a ReLU backward_filter before it. What such a ReLU lets through backward is told by
/// the output of `device` for both: a sign that rounding turns is no error.
///
/// So that a check at batch 64 costs the reference three images, kinds that treat images
/// independently get an output gradient that is zero except in the first image, the last and one
/// between them that `seed` chooses, and only these three are computed by the reference and
/// compared. What is wrong with other images only is not found: compare a batch of up to three, or
/// batch norm, whose images depend on each other, or dropout, whose mask depends on the place in
/// the batch, which all run in full.
///
/// A sum over images, the gradient of weights and biases, is so compared for all filters, and then
/// once more with the gradient of all images, for up to 16 filters of up to four groups
/// (FilterSample): an algorithm that leaves out some images is found by these, one that leaves out
/// some filters by the former. The errors on average are those of the sums over all images, the
/// largest is that of both.
///
/// The inputs of `spec` have the layouts of `device`. Throws Unsupported as `create` does, and if
/// the operation has no such pass.
OperationCheck check_operation(ComputeDevice& device, ComputeDevice& reference,
                               const OperationSpec& spec, Pass pass, std::uint64_t seed);

/// The same for an operation that was made another way than by `device.create(spec)`. `answers`:
/// where the reference's to convolutions are kept for the next check of one; they must all be of
/// this reference.
OperationCheck check_operation(ComputeDevice& device, ComputeDevice& reference,
                               const OperationSpec& spec, Operation& operation, Pass pass,
                               std::uint64_t seed, ReferenceAnswers* answers = nullptr);

/// The largest error of a tensor's elements, as OperationCheck has it.
double largest_error(const std::vector<float>& got, const std::vector<float>& expected);

/// What `max_relative_error` may be for an answer that is right, whatever the layer. f32: 2e-4, for
/// sums of up to a million terms (n terms added one after the other in f32 are off by about
/// 6e-8 · sqrt(n / 6) of the sum's typical size, the worst of thousands of sums by four times
/// that). Winograd's algorithm in f32 loses more, in its transforms: F(6x6,3x3) was off by 1.3e-4
/// at most in the layers of the networks; that is no bound, and a layer with far longer sums may be
/// taken for wrong. tf32 the same for data rounded to it, but a library may round what it computes
/// on the way (the transforms of Winograd's algorithm): 2e-3. bf16: 5e-2, for overlapping windows
/// whose gradients are added with 8 bits of significand; f16 has 11: 1e-2.
double allowed_error(DType dtype);

}  // namespace dlscale::backend
