#include "backend/compute/check/image_tiling.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::backend::image_tiling {
namespace {

// The cuts of one tile; cut() counts the tiles.

AxisCuts cut_for_forward(const Axis& axis, std::int64_t L, std::int64_t m) {
  const auto& [H, R, P, pad] = axis;
  return {{.extent = R, .span = R},
          {.extent = H, .step = m, .shift = -pad, .span = L},
          {.extent = P, .step = m, .span = m},
          1};
}

/// dx[h] = Σ_r w[r] dy[h + pad - r]. Whole: point u is dy[u] and dx[u - pad]. Otherwise tile t
/// computes dx[t·m …] at points R-1 …, the first that all R taps reach.
AxisCuts cut_for_backward_data(const Axis& axis, std::int64_t L, std::int64_t m, Tiling tiling) {
  const auto& [H, R, P, pad] = axis;
  const Cut w{.extent = R, .span = R};
  if (tiling == Tiling::whole) {
    return {w, {.extent = H, .at = pad, .span = H}, {.extent = P, .span = P}, 1};
  }
  return {w,
          {.extent = H, .step = m, .at = R - 1, .span = m},
          {.extent = P, .step = m, .shift = pad - (R - 1), .span = L},
          1};
}

}  // namespace

std::int64_t least_points(const Axis& axis) {
  return std::max({axis.input + axis.pad, axis.kernel, axis.output});
}

AxisCuts cut(const Axis& axis, Pass pass, std::int64_t L, Tiling tiling) {
  EXPECT(pass != Pass::accumulate);
  EXPECT(L >= (tiling == Tiling::whole ? least_points(axis) : axis.kernel));
  const std::int64_t m = L - axis.kernel + 1;
  AxisCuts cuts = pass == Pass::backward_data
                      ? cut_for_backward_data(axis, L, m, tiling)
                      : cut_for_forward(axis, L, tiling == Tiling::whole ? axis.output : m);
  cuts.tiles = convolution::tiles_along(axis.input, axis.kernel, axis.output, pass, L, tiling);
  return cuts;
}

}  // namespace dlscale::backend::image_tiling
