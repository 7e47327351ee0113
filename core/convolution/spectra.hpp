#pragma once
#include <array>
#include <cstdint>

#include "core/network/convolution_shape.hpp"
#include "core/network/step.hpp"

/// How FFT convolution cuts its work: transforms, products of spectra, blocks.
namespace dlscale::convolution {

/// How images are cut. whole: one tile. overlap_save: tiles with overlapping inputs, each with m =
/// L - max(R, S) + 1 results (for backward_filter: gradients) per dimension.
enum class Tiling { whole, overlap_save };

/// Sizes of a pass as products of spectra: per group and frequency one product of q × i with q × j,
/// to i × j. tiles: those of an image, or of its gradient.
///   pass             q          i  j
///   forward          C          K  tiles × N
///   backward_data    K          C  tiles × N
///   backward_filter  tiles × N  K  C            (C, K: of a group)
struct SpectralSizes {
  std::int64_t L = 0;  ///< points per dimension
  std::int64_t groups = 1;
  std::int64_t q = 1, i = 1, j = 1;
};

/// Complex numbers in half a spectrum of L × L real points; the other half is its conjugate.
constexpr std::int64_t frequencies(std::int64_t L) {
  return (L / 2 + 1) * L;
}

/// Maximum L of a transform of whole images, and maximum number of planes per call on a processor.
inline constexpr std::int64_t max_transform_points = 256;
inline constexpr std::int64_t max_transform_batch = 16;

/// Minimum points per dimension that hold a whole image: ≥ image + pad and ≥ kernel and outputs.
/// Values that wrap around then meet zeros or unused results.
std::int64_t least_points(const ConvolutionShape& shape);

/// L for a whole image on a processor: the smallest power of two ≥ 4 and ≥ least_points().
std::int64_t points_for_whole(const ConvolutionShape& shape);

/// L for a whole image on a GPU: the smallest even number ≥ 4 and ≥ least_points() that is a
/// product of 2, 3, 5 and 7. cuFFT is fastest for these (its manual, "Accuracy and Performance").
std::int64_t points_for_whole_on_device(const ConvolutionShape& shape);

/// Tiles along an axis with `input` elements, `output` results and a filter of `kernel` taps.
std::int64_t tiles_along(std::int64_t input, std::int64_t kernel, std::int64_t output, Pass pass,
                         std::int64_t L, Tiling tiling);

/// `pass` must not be accumulate; L ≥ points_for_whole() for whole images, else L ≥ the kernel.
SpectralSizes spectral_sizes(const ConvolutionShape& shape, Pass pass, std::int64_t L,
                             Tiling tiling);

/// Available tile sizes, in points per dimension.
inline constexpr std::array<std::int64_t, 3> tile_points{8, 16, 32};

/// The size among tile_points with the fewest operations, on processors and GPUs alike; whole if
/// one tile holds the image.
struct TileChoice {
  std::int64_t L = 0;  ///< 0: the kernel is larger than any tile
  Tiling tiling = Tiling::overlap_save;
};
TileChoice choose_tile(const ConvolutionShape& shape, Pass pass);

/// Planes that a GPU transforms per call: as many as `limit_bytes` hold, counting planes and
/// spectra, but at least one. Each call transforms this number, even if fewer are needed.
std::int64_t planes_together(std::int64_t L, std::int64_t planes, std::int64_t limit_bytes);

/// Size at which planes and spectra are still in the device's cache (50 MB on an H100 or H200) when
/// the next kernel reads them.
inline constexpr std::int64_t device_batch_bytes = std::int64_t{32} << 20;

/// Operations of one transform: 2.5 L² log2 L²   [half of 5 n log2 n]. This is the usual
/// count for comparing transforms; a good implementation executes fewer.
double transform_flops(std::int64_t L);

/// Radix (8 or 4) of the next stage of our line transforms of 4 to 256 points, a power of two. In
/// the first stage n is the number of points; in each later stage it is n divided by the previous
/// radix.
std::int64_t next_radix(std::int64_t n);
/// Additions and multiplications that a transform of a line of L complex points executes: 16 per
/// butterfly of 4, 56 per butterfly of 8, and 6 per product with a twiddle factor other than 1.
double line_flops(std::int64_t L);
/// Floating-point operations: transform_flops() per plane and 8 per complex multiply-add.
double operations(const SpectralSizes& sizes);

/// Spectra of a block of planes: two matrices per frequency, re above im, of rows × lanes.
struct SpectraShape {
  std::int64_t rows;
  std::int64_t lanes;  ///< a multiple of the batch of the transform

  [[nodiscard]] std::int64_t im() const { return rows * lanes; }  ///< elements from re to im
  /// Elements between frequencies. It is one cache line more than the matrices: with a power of
  /// two, all frequencies that a transform writes would share the same cache sets.
  [[nodiscard]] std::int64_t stride() const { return 2 * rows * lanes + 16; }
};

/// Parts of Â (q × i), B̂ (q × j) and the result (i × j) in memory at once, in planes.
struct SpectralBlocks {
  std::int64_t q, i, j;
  std::int64_t batch;  ///< batch of the transform: lanes are rounded up to it

  [[nodiscard]] SpectraShape a() const { return {q, rounded(i)}; }
  [[nodiscard]] SpectraShape b() const { return {q, rounded(j)}; }
  [[nodiscard]] SpectraShape result() const { return {i, rounded(j)}; }
  /// Floats of all three at one frequency.
  [[nodiscard]] std::int64_t floats() const {
    return a().stride() + b().stride() + result().stride();
  }

 private:
  [[nodiscard]] std::int64_t rounded(std::int64_t n) const {
    return (n + batch - 1) / batch * batch;
  }
};

/// Maximum bytes of spectra that a pass holds at once, whatever the shape.
inline constexpr std::int64_t spectra_limit_bytes = std::int64_t{384} << 20;

/// Number of planes that a pass transforms and of spectra that its products read or write, per
/// frequency. Blocks are transformed and read repeatedly. Â is transformed again for every block of
/// j, unless it stays because one block holds q; B̂ likewise for every block of i.
struct SpectralTraffic {
  std::int64_t planes_a, planes_b, planes_result;  ///< transformed
  std::int64_t moved;                              ///< complex numbers in products
  std::int64_t products;                           ///< blocks multiplied
};
SpectralTraffic spectral_traffic(const SpectralSizes& sizes, const SpectralBlocks& blocks);

/// The fastest blocks, by the count of elements moved and planes transformed, among those whose
/// spectra fit into `limit_bytes`. From 128 MiB up at least one fits.
SpectralBlocks choose_blocks(const SpectralSizes& sizes, std::int64_t batch,
                             std::int64_t limit_bytes);

/// Floats of working memory in which a thread transforms `batch` planes: the planes after their row
/// transforms, four lines, and rows of pixels; whole cache lines.
std::int64_t transform_workspace_floats(std::int64_t L, std::int64_t batch);

}  // namespace dlscale::convolution
