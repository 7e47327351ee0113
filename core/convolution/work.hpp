#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.hpp"
#include "core/convolution/method.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/step.hpp"

namespace dlscale::convolution {

/// Kind of work in a stage, which decides what its time depends on.
enum class StageKind {
  product,    ///< matrix products
  direct,     ///< a convolution in one piece
  transform,  ///< transforms tiles or filters to the Winograd or frequency domain, or back
  copy,       ///< moves bytes, with at most one addition per element
};

/// Equal matrix products: m × n = m × k · k × n.
struct Products {
  double m = 0;
  double n = 0;
  double k = 0;
  double count = 0;
};

/// A part of an algorithm that ends before the next begins (within a block, if work is cut).
struct Stage {
  std::string_view name;  ///< "input transform"
  StageKind kind = StageKind::copy;
  Flops flops = {};
  Bytes bytes = {};        ///< bytes read and written, each operand once per block
  Bytes working_set = {};  ///< bytes touched before the same bytes are touched again
  /// The part of `bytes` in memory beside the tensors, which one stage leaves to another; in
  /// between, all of AlgorithmWork::workspace is touched. 0 if unknown: is_nominal().
  Bytes scratch = {};
  std::vector<Products> products = {};  ///< only for the kind product
  /// For transforms: operations in proportion to the executed vectors. Idle lanes count; rows of
  /// zeros, which are skipped, do not. For FFT it is the nominal count.
  Flops vector_flops = {};
  /// Rows of tiles or pixels, filters or batches of planes, each started separately.
  double runs = 0;
  double gathered = 0;  ///< elements that are copied one by one, because they are not contiguous
};

/// Work of an algorithm for one pass: executed, or as the papers count it (is_nominal()).
struct AlgorithmWork {
  std::vector<Stage> stages;
  Bytes workspace;  ///< memory beside the tensors
  [[nodiscard]] Flops flops() const;
  [[nodiscard]] Bytes bytes() const;
  /// Operations per byte of this algorithm.
  [[nodiscard]] FlopsPerByte intensity() const { return flops() / bytes(); }
};

struct WorkSetting {
  Blocking blocking = Blocking::ours;
  int threads = 1;
  int vector_floats = 16;  ///< tiles, filters or (FFT) planes that are transformed together
  bool bias = false;
  bool relu = false;  ///< Layer::relu
  /// Forward without the transform of the filters, which an earlier run has kept.
  bool kept_filters = false;
};

/// As refusal() of method.hpp. For our algorithms on processors, also why one pass with `threads`
/// threads is refused: backward_filter of a fused Winograd convolution, for memory
/// (tile_blocks.hpp).
std::string refusal(Method method, const ConvolutionShape& shape, Pass pass,
                    const WorkSetting& setting);

/// Operations and bytes of `method` in f32, stage by stage. The method must support `shape`: see
/// refusal(). Additions, and multiplications by constants other than ±1, are operations.
///
///   direct    direct_flops() less taps on padding, least_bytes(); also of an implicit GEMM
///   im2col    direct_flops(); the matrix of patches is written and read: 2 · C R S · N P Q more
///             elements, except for 1 × 1 filters whose patches are the image
///   winograd  α² products of K × C by C × tiles, tiles = N ⌈P/m⌉ ⌈Q/m⌉, α = m + 2; transforms of
///             every tile and filter. backward_data: with C and K exchanged; backward_filter:
///             K × tiles by tiles × C. Fused: the same in smaller blocks, each by one thread; in
///             backward_filter every thread's sum is added to the others, which is not counted.
///   fft       transforms of a nominal 2.5 L² log2 L² per plane; for our own the executed
///             operations, since they skip rows of zeros; 8 operations per complex product at
///             L (L/2 + 1) frequencies. The blocks are those of spectra.hpp. Ours write [-Âi; Âr]
///             beside Â for the products.
/// On a GPU, separate kernels fill and empty planes, and move spectra to the products and back.
///
/// Our algorithms add the bias and apply a fused ReLU in one more pass over the outputs. In
/// backward_filter, one more pass sums the bias gradient, and another clears the gradients that the
/// ReLU blocks.
AlgorithmWork algorithm_work(Method method, const ConvolutionShape& shape, Pass pass,
                             const WorkSetting& setting = {});

/// Operations of two-dimensional transforms F(m × m, 3 × 3). data: a tile of inputs alone, in 2 α
/// equal lines (ours share columns among neighbours). filter: a filter. output: a tile of outputs
/// back. gradient: a tile of m × m gradients. filter_gradient: a filter's gradient back.
struct TransformFlops {
  double data, filter, output, gradient, filter_gradient;
};
/// Counts of our transforms, m = 2, 4 or 6, with the points of
/// backend/compute/winograd_matrices.hpp.
TransformFlops our_transform_flops(int m);
/// Counts of the GPU kernels, m = 2 or 4, which compute each sum separately.
TransformFlops device_transform_flops(int m);
/// Counts of Lavin & Gray, arXiv:1509.09308, section 4: m = 2 or 4. Cases
/// that the paper does not count (m = 6, gradients) use our counts. They are nominal for libraries,
/// whose cost depends on their interpolation points.
TransformFlops published_transform_flops(int m);

}  // namespace dlscale::convolution
