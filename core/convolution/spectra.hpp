#pragma once
#include <array>
#include <cstdint>

#include "core/network/convolution_shape.hpp"
#include "core/network/step.hpp"

/// How convolution by FFT cuts its work: transforms, products of spectra, blocks.
namespace dlscale::lowering {

/// How images are cut. whole: one tile. overlap_save: tiles of m = L - max(R, S) + 1 results each
/// way (of backward_filter: gradients) whose inputs overlap.
enum class Tiling { whole, overlap_save };

/// The sizes of a pass as products of spectra: per group and frequency one product of q × i with
/// q × j, to i × j. tiles: of an image, or of its gradient.
///   pass             q          i  j
///   forward          C          K  tiles × N
///   backward_data    K          C  tiles × N
///   backward_filter  tiles × N  K  C            (C, K: of a group)
struct SpectralSizes {
  std::int64_t L = 0;  ///< points each way
  std::int64_t groups = 1;
  std::int64_t q = 1, i = 1, j = 1;
};

/// Complex numbers of half a spectrum of L × L real points; the other half is its conjugate.
constexpr std::int64_t frequencies(std::int64_t L) {
  return (L / 2 + 1) * L;
}

/// The largest L of a transform of whole images, and the most planes that one call takes on a
/// processor.
inline constexpr std::int64_t max_transform_points = 256;
inline constexpr std::int64_t max_transform_batch = 16;

/// The fewest points each way that hold a whole image: ≥ image + pad and ≥ kernel and outputs. What
/// wraps around then meets zeros or results that are not wanted.
std::int64_t least_points(const ConvolutionShape& shape);

/// L for a whole image on a processor: the least power of two, from 4, that is least_points() or
/// more.
std::int64_t points_for_whole(const ConvolutionShape& shape);

/// L for a whole image on a GPU: the least even number, from 4, that is least_points() or more and
/// a product of 2, 3, 5 and 7, for which cuFFT is fastest (its manual, "Accuracy and Performance").
std::int64_t points_for_whole_on_device(const ConvolutionShape& shape);

/// Tiles along an axis with `input` elements, `output` results and a filter of `kernel` taps.
std::int64_t tiles_along(std::int64_t input, std::int64_t kernel, std::int64_t output, Pass pass,
                         std::int64_t L, Tiling tiling);

/// `pass` is not accumulate; L is points_for_whole or more, or ≥ the kernel.
SpectralSizes spectral_sizes(const ConvolutionShape& shape, Pass pass, std::int64_t L,
                             Tiling tiling);

/// Points each way of the tiles there are.
inline constexpr std::array<std::int64_t, 3> tile_points{8, 16, 32};

/// Tiles of tile_points, whichever need the fewest operations, on processors and GPUs alike; whole
/// where one holds the image.
struct TileChoice {
  std::int64_t L = 0;  ///< 0: the kernel is larger than any tile
  Tiling tiling = Tiling::overlap_save;
};
TileChoice choose_tile(const ConvolutionShape& shape, Pass pass);

/// How many of `planes` a GPU transforms in one call: about as many as `limit_bytes` hold, planes
/// and spectra together, at least one. Each call transforms so many, whether they are wanted or
/// not.
std::int64_t planes_together(std::int64_t L, std::int64_t planes, std::int64_t limit_bytes);

/// So that planes and spectra are still in the cache of the device (50 MB on an H100 or H200) when
/// the next kernel reads them.
inline constexpr std::int64_t device_batch_bytes = std::int64_t{32} << 20;

/// Operations of one transform: 2.5 L² log2 L²   [MODEL 4, FFT of real points]. The usual count, by
/// which transforms are compared; one that is well made executes fewer.
double transform_flops(std::int64_t L);

/// Our transforms of lines, of a power of two from 4 to 256 points, go in stages of radix 8 or 4: of
/// the first n is all points, of the next it is n over the radix before.
std::int64_t next_radix(std::int64_t n);
/// Additions and multiplications that a transform of a line of L complex points executes: 16 in a
/// butterfly of 4 and 56 in one of 8, and 6 a product with a twiddle other than 1.
double line_flops(std::int64_t L);
/// Floating-point operations: transform_flops() a plane and 8 a complex multiply-add.
double operations(const SpectralSizes& sizes);

/// Spectra of a block of planes: at every frequency two matrices, re over im, of rows × lanes.
struct SpectraShape {
  std::int64_t rows;
  std::int64_t lanes;  ///< a multiple of the batch of the transform

  [[nodiscard]] std::int64_t im() const { return rows * lanes; }  ///< elements from re to im
  /// Elements from frequency to frequency. A cache line more than the matrices: at a power of two
  /// apart, all frequencies that a transform writes would share the sets of the cache.
  [[nodiscard]] std::int64_t stride() const { return 2 * rows * lanes + 16; }
};

/// How much of Â (q × i), B̂ (q × j) and the result (i × j) is in memory at once, in planes.
struct SpectralBlocks {
  std::int64_t q, i, j;
  std::int64_t batch;  ///< of the transform: lanes are rounded up to it

  [[nodiscard]] SpectraShape a() const { return {q, rounded(i)}; }
  [[nodiscard]] SpectraShape b() const { return {q, rounded(j)}; }
  [[nodiscard]] SpectraShape result() const { return {i, rounded(j)}; }
  /// Floats that the three take at one frequency.
  [[nodiscard]] std::int64_t floats() const {
    return a().stride() + b().stride() + result().stride();
  }

 private:
  [[nodiscard]] std::int64_t rounded(std::int64_t n) const {
    return (n + batch - 1) / batch * batch;
  }
};

/// The spectra that a pass holds at once take no more than this, whatever the shape.
inline constexpr std::int64_t spectra_limit_bytes = std::int64_t{384} << 20;

/// How many planes a pass transforms and how many spectra its products read or write, in units of
/// one frequency, since blocks are transformed and read again. Â is transformed again for every
/// block of j, unless it stays because q is in one block; B̂ likewise for every block of i.
struct SpectralTraffic {
  std::int64_t planes_a, planes_b, planes_result;  ///< transformed
  std::int64_t moved;                              ///< complex numbers in products
  std::int64_t products;                           ///< blocks multiplied
};
SpectralTraffic spectral_traffic(const SpectralSizes& sizes, const SpectralBlocks& blocks);

/// The blocks that need the least time by count of elements moved and planes transformed, among
/// those whose spectra fit into `limit_bytes`, of which there is at least one from 128 MiB up.
SpectralBlocks choose_blocks(const SpectralSizes& sizes, std::int64_t batch,
                             std::int64_t limit_bytes);

/// Floats in which a thread makes a transform of `batch` planes: the planes after their row
/// transforms, four lines, and rows of pixels; whole cache lines.
std::int64_t transform_workspace_floats(std::int64_t L, std::int64_t batch);

}  // namespace dlscale::lowering
