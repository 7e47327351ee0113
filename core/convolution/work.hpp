#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/convolution/method.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/step.hpp"

namespace dlscale::lowering {

/// What a stage does, which decides what its time depends on.
enum class StageKind {
  product,    ///< matrix products
  direct,     ///< a convolution in one piece
  transform,  ///< tiles or filters to where they are multiplied, or back
  copy,       ///< bytes moved, with an addition an element at most
};
std::string_view stage_kind_name(StageKind kind);

/// Matrix products of one size, all of them alike: m × n = m × k · k × n.
struct Products {
  double m = 0;
  double n = 0;
  double k = 0;
  double count = 0;
};

/// A part of an algorithm that runs before the next begins (on a block, where work is cut).
struct Stage {
  std::string_view name;  ///< "input transform"
  StageKind kind = StageKind::copy;
  Flops flops = {};
  Bytes bytes = {};        ///< read and written, each operand once a block
  Bytes working_set = {};  ///< what it goes over before it meets the same bytes again
  /// Of `bytes`, those in memory beside the tensors, where one stage leaves them to another: in
  /// between, all of AlgorithmWork::workspace is gone over. 0 where that is not known:
  /// is_nominal().
  Bytes scratch = {};
  std::vector<Products> products = {};  ///< of products alone
  /// Of transforms: operations in proportion to the vectors that execute them, those of idle lanes
  /// counted, those on rows of zeros, which are skipped, left out; of FFT by its nominal count.
  Flops vector_flops = {};
  double runs = 0;      ///< rows of tiles or pixels, filters or batches of planes, each begun anew
  double gathered = 0;  ///< elements that are copied one by one, as they do not lie side by side
};

/// What an algorithm does for one pass: really, or as the papers count it (is_nominal()).
struct AlgorithmWork {
  std::vector<Stage> stages;
  Bytes workspace;  ///< memory beside the tensors
  [[nodiscard]] Flops flops() const;
  [[nodiscard]] Bytes bytes() const;
  /// Operations a byte of that algorithm.
  [[nodiscard]] FlopsPerByte intensity() const { return flops() / bytes(); }
};

struct WorkSetting {
  Blocking blocking = Blocking::ours;
  int threads = 1;
  int vector_floats = 16;  ///< tiles, filters or (FFT) planes that are transformed at once
  bool bias = false;
  bool relu = false;  ///< Layer::relu
  /// Forward, without the transform of the filters, which an earlier run has left.
  bool kept_filters = false;
};

/// refusal() of method.hpp; and of ours on processors, what one pass by so many threads is refused
/// for: backward_filter of a fused Winograd convolution, for memory (limits.hpp).
std::string refusal(Method method, const ConvolutionShape& shape, Pass pass,
                    const WorkSetting& setting);

/// Operations and bytes of `method` in f32, stage by stage. `shape` is one that it offers: see
/// refusal(). Additions and multiplications by other constants than ±1 are operations.
///
///   direct    F of MODEL 4.1 less taps on padding, bytes of 4.2; also of an implicit GEMM
///   im2col    F of 4.1; the matrix of patches is written and read: 2 · C R S · N P Q more
///             elements, but for 1 × 1 filters whose patches are the image
///   winograd  α² products of K × C by C × tiles, tiles = N ⌈P/m⌉ ⌈Q/m⌉, α = m + 2; transforms of
///             every tile and filter. backward_data: with C and K exchanged; backward_filter:
///             K × tiles by tiles × C. Fused: the same in smaller blocks, each by one thread; of
///             backward_filter every thread's sum is added to the others, which is left out.
///   fft       transforms of a nominal 2.5 L² log2 L² a plane; our own: what they execute, which
///             skip rows of zeros; 8 operations a complex product at L (L/2 + 1) frequencies; see
///             spectra.hpp for its blocks. Ours write [-Âi; Âr] beside Â for the products.
/// On a GPU planes are filled and emptied, and spectra brought to where they are multiplied and
/// back, by kernels of their own.
/// Ours add the bias and apply a fused ReLU in one more pass over the outputs; backward_filter sums
/// the bias' gradient in one, and clears what the ReLU does not let through in another.
AlgorithmWork algorithm_work(Method method, const ConvolutionShape& shape, Pass pass,
                             const WorkSetting& setting = {});

/// Operations of two-dimensional transforms F(m × m, 3 × 3): of a tile of inputs alone, in 2 α
/// lines of as many each (ours shares columns among neighbours), of a filter, of a tile of outputs
/// back; of a tile of m × m gradients, and of a filter's gradient back.
struct TransformFlops {
  double data, filter, output, gradient, filter_gradient;
};
/// Of ours, m = 2, 4 or 6, with the points of backend/compute/winograd_matrices.hpp.
TransformFlops our_transform_flops(int m);
/// Of the kernels on GPUs, m = 2 or 4, where each sum is computed on its own.
TransformFlops device_transform_flops(int m);
/// Of Lavin & Gray, arXiv:1509.09308, section 4, as MODEL 4 quotes them: m = 2 or 4. What the paper
/// does not count (m = 6, gradients) is taken from ours. Nominal for libraries: the points that
/// they interpolate at decide what theirs cost.
TransformFlops published_transform_flops(int m);

}  // namespace dlscale::lowering
