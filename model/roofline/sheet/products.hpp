#pragma once
#include <vector>

#include "core/network/network.hpp"
#include "core/network/step.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::sheet {

/// Library that computes a product: they choose tiles and algorithms in different ways.
enum class ProductKind {
  convolution,
  direct,  ///< convolution of so few channels a group that no tiles of a product fit
  linear,
  batched
};

/// `groups` matrix products of equal sizes in one call, each (m × k) · (k × n). All sizes are ≥ 1
/// and real, because a strided convolution's gradient has fractions of its filter.
struct Product {
  ProductKind kind = ProductKind::linear;
  Pass pass = Pass::forward;
  double groups = 1;
  double m = 1;
  double n = 1;
  double k = 1;
  double elements = 0;     ///< of both operands and the result, of all groups
  double activations = 0;  ///< those of a convolution that are inputs, outputs or their gradients
  /// Multiplications that the minimal filtering F(2×2, r×r) saves; 0: it does not apply.
  double winograd = 0;
  double channels = 1;  ///< that the depth k has beside the filter's r · s
  double stride = 1;    ///< of a convolution

  [[nodiscard]] double flops() const { return 2 * groups * m * n * k; }
  bool operator==(const Product&) const = default;
};

/// The matrix products of a step for a mini-batch of b samples:
///   convolution of C × H × W to K × P × Q by g groups of filters r × s, strides t × u
///     forward           m = b P Q        n = K/g        k = r s C/g
///     gradient of data  m = b P Q t u    n = C/g        k = r s K/(g t u)    (1×1: t u = 1)
///     of weights        m = K/g          n = r s C/g    k = b P Q
///   the transposed one, of C × H × W to K × P × Q: its convolution's gradient of data and others
///   fully connected and linear, R rows, c inputs and o outputs
///     forward (R, o, c)    data (R, c, o)    weights (o, c, R)
///   experts: as linear, in as many groups as the rows can reach of them
///   attention, b heads products each of T × d and d × S, or T × S and S × d
///     forward (m, n, k)    both gradients (m, k, n) and (n, k, m)
/// Elements are those that any algorithm reads and writes at least: both operands and the result.
///   winograd = 2.25 P Q / (4 ⌈P/2⌉ ⌈Q/2⌉), for one group and stride 1, filters 3×3 of 16 channels
///   and more, and 5×5 of 64 channels and more on both sides; the gradient of data in C, H and W
/// Several groups of up to 4 channels, in and out, are direct. Depthwise convolutions are such:
/// frameworks and cuDNN have kernels of their own for them, which memory bounds. The gradient of
/// depthwise weights has a block for each weight, so that inputs and gradients of outputs are read
/// r s times. [PyTorch, aten/src/ATen/native/cuda/DepthwiseConv2d.cu, of channels-first images]
/// The numbers are those of `constants`. [implicit
/// GEMM: Chetlur et al. 2014, arXiv:1410.0759; F(2×2, 3×3): Lavin & Gray 2016] Wrong where a
/// library gathers the data gradient of a strided filter without the zeros in between: t u of the
/// rows then have filters of different sizes. Other layers have no products. Requires batch ≥ 1.
std::vector<Product> products_of(const Network& network, Step step, int batch,
                                 const KernelConstants& constants = nominal_constants());

/// A convolution of `batch` images of c × h × w to k × p × q.
struct ConvolutionSizes {
  double c = 1, h = 1, w = 1;  // input
  double k = 1, p = 1, q = 1;  // output
  double r = 1, s = 1;         // filter
  double strides = 1;          // product of both
  double groups = 1;
  bool dilated = false;
};
Product convolution_product(const ConvolutionSizes& sizes, Pass pass, double batch,
                            const KernelConstants& constants = nominal_constants());
/// A linear layer of `rows` rows.
Product linear_product(double rows, double inputs, double outputs, Pass pass);

}  // namespace dlscale::model::sheet
