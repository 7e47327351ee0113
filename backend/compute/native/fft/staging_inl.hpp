// Conversion between images in memory and vectors that hold a pixel of every plane of a batch.
// Included once for every instruction set, as butterflies_inl.hpp.
#if defined(DLSCALE_BACKEND_COMPUTE_NATIVE_FFT_STAGING) == defined(HWY_TARGET_TOGGLE)
#ifdef DLSCALE_BACKEND_COMPUTE_NATIVE_FFT_STAGING
#undef DLSCALE_BACKEND_COMPUTE_NATIVE_FFT_STAGING
#else
#define DLSCALE_BACKEND_COMPUTE_NATIVE_FFT_STAGING
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>
#include <span>

#include "backend/compute/native/fft/butterflies_inl.hpp"
#include "backend/compute/native/fft/fourier_transform.hpp"

HWY_BEFORE_NAMESPACE();
namespace dlscale::backend::native_device::spectral::HWY_NAMESPACE {

/// The memory of one call: the plane after its row transforms, L × (L/2 + 1) complex vectors, and
/// some lines of L complex vectors. The lines stay in the nearest cache.
class Workspace {
 public:
  Workspace(std::int64_t L, float* memory) : L_(L), memory_(memory) {}

  static std::int64_t floats(std::int64_t L) {
    return convolution::transform_workspace_floats(L, width());
  }

  /// Row y of the plane, L/2 + 1 points.
  [[nodiscard]] Line<float> row(std::int64_t y) const {
    return line_at(memory_ + y * row_floats(L_), 2 * width());
  }
  /// Column v of the plane, L points.
  [[nodiscard]] Line<float> column(std::int64_t v) const {
    return line_at(memory_ + v * 2 * width(), row_floats(L_));
  }
  /// Two rows of real points, one as re and one as im; the second function is their transform.
  [[nodiscard]] Line<float> pair() const { return line(0); }
  [[nodiscard]] Line<float> transformed_pair() const { return line(1); }
  /// Two lines, for transform_line.
  [[nodiscard]] const Line<float> (&spare() const)[2] { return spare_; }
  /// A row of L pixels of plane `b` of the batch.
  [[nodiscard]] float* staging(std::int64_t b) const { return staging_ + b * L_; }
  /// L zeros; call `clear_staging` first.
  [[nodiscard]] const float* zeros() const { return staging(width()); }

  void clear_staging() const { std::fill_n(staging_, (width() + 1) * L_, 0.0F); }
  void clear_rows(std::int64_t first, std::int64_t last) const {
    std::fill(memory_ + first * row_floats(L_), memory_ + last * row_floats(L_), 0.0F);
  }

 private:
  static std::int64_t width() { return static_cast<std::int64_t>(hn::Lanes(Floats())); }
  static std::int64_t row_floats(std::int64_t L) { return (L / 2 + 1) * 2 * width(); }
  static std::int64_t plane_floats(std::int64_t L) { return L * row_floats(L); }
  /// One vector longer than needed: lines at multiples of 4 KiB would share the sets of the cache.
  static std::int64_t line_floats(std::int64_t L) { return (L + 1) * 2 * width(); }

  static Line<float> line_at(float* first, std::int64_t stride) {
    return {first, first + width(), stride};
  }
  [[nodiscard]] Line<float> line(std::int64_t i) const {
    return line_at(memory_ + plane_floats(L_) + i * line_floats(L_), 2 * width());
  }

  std::int64_t L_;
  float* memory_;
  Line<float> spare_[2] = {line(2), line(3)};
  float* staging_ = memory_ + plane_floats(L_) + 4 * line_floats(L_);
};

/// The rows that any window covers, widened to whole pairs; 0 to 0 where all are empty.
struct RowSpan {
  std::int64_t first;
  std::int64_t last;
};

template <class Float>
RowSpan rows_used(std::span<const Window<Float>> planes) {
  RowSpan used{max_transform_points, 0};
  for (const Window<Float>& plane : planes) {
    if (plane.rows == 0 || plane.columns == 0) continue;
    used.first = std::min(used.first, plane.top / 2 * 2);
    used.last = std::max(used.last, (plane.top + plane.rows + 1) / 2 * 2);
  }
  return used.last == 0 ? RowSpan{0, 0} : used;
}

/// Side of the squares that `transpose` exchanges; divides L and the number of lanes.
inline constexpr std::int64_t side = HWY_TARGET == HWY_SCALAR ? 1 : 4;

/// out[j · out_stride + i] = in[i][j], i and j < side
HWY_INLINE void transpose(const float* const (&in)[side], float* out, std::int64_t out_stride) {
#if HWY_TARGET == HWY_SCALAR
  out[0 * out_stride] = in[0][0];
#else
  const hn::FixedTag<float, 4> d;
  const auto a = hn::LoadU(d, in[0]);
  const auto b = hn::LoadU(d, in[1]);
  const auto c = hn::LoadU(d, in[2]);
  const auto e = hn::LoadU(d, in[3]);
  const auto ab_low = hn::InterleaveLower(d, a, b);
  const auto ab_high = hn::InterleaveUpper(d, a, b);
  const auto ce_low = hn::InterleaveLower(d, c, e);
  const auto ce_high = hn::InterleaveUpper(d, c, e);
  hn::StoreU(hn::ConcatLowerLower(d, ce_low, ab_low), d, out);
  hn::StoreU(hn::ConcatUpperUpper(d, ce_low, ab_low), d, out + out_stride);
  hn::StoreU(hn::ConcatLowerLower(d, ce_high, ab_high), d, out + 2 * out_stride);
  hn::StoreU(hn::ConcatUpperUpper(d, ce_high, ab_high), d, out + 3 * out_stride);
#endif
}

/// L pixels of row y of plane b. They are in the image itself where the window is as wide as the
/// plane; otherwise they are copied between the zeros of its staging row.
inline const float* row_of_plane(std::int64_t L, std::span<const Source> planes, std::int64_t b,
                                 std::int64_t y, const Workspace& work) {
  if (b >= static_cast<std::int64_t>(planes.size())) return work.zeros();
  const Source& plane = planes[static_cast<std::size_t>(b)];
  if (y < plane.top || y >= plane.top + plane.rows) return work.zeros();
  const float* row = plane.pixels + (y - plane.top) * plane.row_stride;
  if (plane.columns == L) return row;
  std::copy_n(row, plane.columns, work.staging(b) + plane.left);
  return work.staging(b);
}

/// out[x · 2 · lanes + b] = pixel (y, x) of plane b
HWY_INLINE void gather_row(std::int64_t L, std::span<const Source> planes, std::int64_t y,
                           const Workspace& work, float* out) {
  const auto width = static_cast<std::int64_t>(hn::Lanes(Floats()));
  for (std::int64_t b = 0; b < width; b += side) {
    const float* in[side];
    for (std::int64_t i = 0; i < side; ++i) in[i] = row_of_plane(L, planes, b + i, y, work);
    for (std::int64_t x = 0; x < L; x += side) {
      transpose(in, out + x * 2 * width + b, 2 * width);
      for (const float*& pixels : in) pixels += side;
    }
  }
}

/// pixel (y, x) of plane b = in[x · 2 · lanes + b], inside its window
HWY_INLINE void scatter_row(std::int64_t L, std::span<const Target> planes, std::int64_t y,
                            const float* in, const Workspace& work) {
  const std::int64_t step = 2 * static_cast<std::int64_t>(hn::Lanes(Floats()));
  const auto count = static_cast<std::int64_t>(planes.size());
  for (std::int64_t b = 0; b < count; b += side) {
    for (std::int64_t x = 0; x < L; x += side) {
      const float* points[side];
      for (std::int64_t i = 0; i < side; ++i) points[i] = in + (x + i) * step + b;
      transpose(points, work.staging(b) + x, L);
    }
  }
  for (std::int64_t b = 0; b < count; ++b) {
    const Target& plane = planes[static_cast<std::size_t>(b)];
    if (y < plane.top || y >= plane.top + plane.rows) continue;
    std::copy_n(work.staging(b) + plane.left, plane.columns,
                plane.pixels + (y - plane.top) * plane.row_stride);
  }
}

}  // namespace dlscale::backend::native_device::spectral::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif
