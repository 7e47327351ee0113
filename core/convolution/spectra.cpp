#include "core/convolution/spectra.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::convolution {
namespace {

std::int64_t parts(std::int64_t all, std::int64_t block) {
  return (all + block - 1) / block;
}

/// all, all/2, all/4 … down to `multiple`; all but the first are rounded up to a multiple of it.
std::vector<std::int64_t> candidates(std::int64_t all, std::int64_t multiple) {
  std::vector<std::int64_t> sizes{all};
  for (std::int64_t n = 2; sizes.back() > multiple; n *= 2) {
    sizes.push_back(parts(parts(all, n), multiple) * multiple);
  }
  return sizes;
}

/// Cost per frequency, in elements moved between memory and core. A transform counts as much as
/// moving four complex numbers, a GEMM call as much as 1500 elements.
double cost(const SpectralSizes& sizes, const SpectralBlocks& blocks) {
  constexpr double transform = 8;
  constexpr double call = 1500;
  const SpectralTraffic traffic = spectral_traffic(sizes, blocks);
  return transform *
             static_cast<double>(traffic.planes_a + traffic.planes_b + traffic.planes_result) +
         static_cast<double>(2 * traffic.moved) + call * static_cast<double>(2 * traffic.products);
}

bool is_fast(std::int64_t L) {
  for (const std::int64_t prime : {2, 3, 5, 7}) {
    while (L % prime == 0) L /= prime;
  }
  return L == 1;
}

}  // namespace

std::int64_t least_points(const ConvolutionShape& shape) {
  return std::max({shape.height + shape.pad, shape.width + shape.pad, shape.kernel_h,
                   shape.kernel_w, shape.out_height, shape.out_width});
}

std::int64_t points_for_whole(const ConvolutionShape& shape) {
  const std::int64_t points = std::max(std::int64_t{4}, least_points(shape));
  return static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>(points)));
}

std::int64_t points_for_whole_on_device(const ConvolutionShape& shape) {
  const std::int64_t least = least_points(shape);
  std::int64_t L = std::max<std::int64_t>(4, least + least % 2);
  while (!is_fast(L)) L += 2;
  return L;
}

std::int64_t tiles_along(std::int64_t input, std::int64_t kernel, std::int64_t output, Pass pass,
                         std::int64_t L, Tiling tiling) {
  if (tiling == Tiling::whole) return 1;
  return parts(pass == Pass::backward_data ? input : output, L - kernel + 1);
}

SpectralSizes spectral_sizes(const ConvolutionShape& shape, Pass pass, std::int64_t L,
                             Tiling tiling) {
  const std::int64_t C = shape.channels / shape.groups;
  const std::int64_t K = shape.outputs / shape.groups;
  const std::int64_t tiles =
      shape.images * tiles_along(shape.height, shape.kernel_h, shape.out_height, pass, L, tiling) *
      tiles_along(shape.width, shape.kernel_w, shape.out_width, pass, L, tiling);
  switch (pass) {
    case Pass::forward:
      return {L, shape.groups, C, K, tiles};
    case Pass::backward_data:
      return {L, shape.groups, K, C, tiles};
    case Pass::backward_filter:
      return {L, shape.groups, tiles, K, C};
    case Pass::accumulate:
      break;
  }
  fail_expectation("pass != Pass::accumulate");
}

TileChoice choose_tile(const ConvolutionShape& shape, Pass pass) {
  TileChoice best;
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t L : tile_points) {
    if (L < std::max(shape.kernel_h, shape.kernel_w)) continue;
    const Tiling tiling = L < points_for_whole(shape) ? Tiling::overlap_save : Tiling::whole;
    const double needed = operations(spectral_sizes(shape, pass, L, tiling));
    if (needed >= least) continue;
    best = {L, tiling};
    least = needed;
  }
  return best;
}

std::int64_t planes_together(std::int64_t L, std::int64_t planes, std::int64_t limit_bytes) {
  const std::int64_t floats = L * L + 2 * frequencies(L);
  const auto bytes = floats * static_cast<std::int64_t>(sizeof(float));
  return std::clamp<std::int64_t>(limit_bytes / bytes, 1, planes);
}

double transform_flops(std::int64_t L) {
  const auto points = static_cast<double>(L * L);
  return 2.5 * points * std::log2(points);
}

std::int64_t next_radix(std::int64_t n) {
  return n == 4 || n == 16 ? 4 : 8;  // as many factors of eight as leave a power of four
}

double line_flops(std::int64_t L) {
  std::int64_t flops = 0;
  for (std::int64_t n = L; n > 1; n /= next_radix(n)) {
    const std::int64_t radix = next_radix(n);
    const std::int64_t butterfly = radix == 4 ? 16 : 56;
    const std::int64_t with_twiddles = L / radix - L / n;
    flops += L / radix * butterfly + with_twiddles * 6 * (radix - 1);
  }
  return static_cast<double>(flops);
}

double operations(const SpectralSizes& sizes) {
  const auto q = static_cast<double>(sizes.q);
  const auto i = static_cast<double>(sizes.i);
  const auto j = static_cast<double>(sizes.j);
  const double transforms = transform_flops(sizes.L) * (q * i + q * j + i * j);
  const double products = 8 * static_cast<double>(frequencies(sizes.L)) * q * i * j;
  return static_cast<double>(sizes.groups) * (transforms + products);
}

SpectralTraffic spectral_traffic(const SpectralSizes& sizes, const SpectralBlocks& blocks) {
  const auto [L, groups, q, i, j] = sizes;
  const std::int64_t nq = parts(q, blocks.q), ni = parts(i, blocks.i), nj = parts(j, blocks.j);
  return {.planes_a = q * i * (nq == 1 ? 1 : nj),
          .planes_b = q * j * (nq * nj == 1 ? 1 : ni),
          .planes_result = i * j,
          .moved = q * i * nj + q * j * ni + i * j * (2 * nq - 1),
          .products = nq * ni * nj};
}

SpectralBlocks choose_blocks(const SpectralSizes& sizes, std::int64_t batch,
                             std::int64_t limit_bytes) {
  const std::int64_t limit =
      limit_bytes / static_cast<std::int64_t>(sizeof(float)) / frequencies(sizes.L);
  SpectralBlocks best{};
  double least = std::numeric_limits<double>::infinity();
  for (const std::int64_t q : candidates(sizes.q, 1)) {
    for (const std::int64_t i : candidates(sizes.i, batch)) {
      for (const std::int64_t j : candidates(sizes.j, batch)) {
        const SpectralBlocks blocks{q, i, j, batch};
        if (blocks.floats() > limit || cost(sizes, blocks) >= least) continue;
        best = blocks;
        least = cost(sizes, blocks);
      }
    }
  }
  EXPECT(best.batch == batch);
  return best;
}

std::int64_t transform_workspace_floats(std::int64_t L, std::int64_t batch) {
  const std::int64_t plane = L * (L / 2 + 1) * 2 * batch;
  const std::int64_t line = (L + 1) * 2 * batch;
  return (plane + 4 * line + L * batch + L + 15) / 16 * 16;
}

}  // namespace dlscale::convolution
