#ifdef DLSCALE_SPARED_TARGETS
#define HWY_DISABLED_TARGETS DLSCALE_SPARED_TARGETS
#endif
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/compute/native/fft/batched_transform.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every instruction set
// Highway requires its own headers after foreach_target.h.
#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cctype>

#include "backend/compute/native/fft/butterflies_inl.hpp"
#include "backend/compute/native/fft/fourier_library.hpp"
#include "backend/compute/native/fft/fourier_transform.hpp"
#include "backend/compute/native/fft/stages.hpp"
#include "backend/compute/native/fft/staging_inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace dlscale::backend::native_device::spectral::HWY_NAMESPACE {

/// Separates Z, the transform of row y + i · row (y+1), into the transforms of both rows, and keeps
/// their first L/2 + 1 points.
HWY_INLINE void separate(std::int64_t L, Line<const float> Z, Line<float> even, Line<float> odd) {
  const Vector half = hn::Set(Floats(), 0.5F);
  for (std::int64_t k = 0; k <= L / 2; ++k) {
    const Complex a = load(Z, k);
    const Complex b = load(Z, (L - k) & (L - 1));
    store({hn::Mul(half, hn::Add(a.re, b.re)), hn::Mul(half, hn::Sub(a.im, b.im))}, even, k);
    store({hn::Mul(half, hn::Add(a.im, b.im)), hn::Mul(half, hn::Sub(b.re, a.re))}, odd, k);
  }
}

/// The inverse of separate(): scale · (even + i · odd), continued by symmetry.
HWY_INLINE void combine(std::int64_t L, Line<const float> even, Line<const float> odd, float scale,
                        Line<float> Z) {
  const Vector factor = hn::Set(Floats(), scale);
  for (std::int64_t k = 0; k <= L / 2; ++k) {
    const Complex a = load(even, k);
    const Complex b = load(odd, k);
    store({hn::Mul(factor, hn::Sub(a.re, b.im)), hn::Mul(factor, hn::Add(a.im, b.re))}, Z, k);
    if (k == 0 || k == L / 2) continue;
    store({hn::Mul(factor, hn::Add(a.re, b.im)), hn::Mul(factor, hn::Sub(b.re, a.im))}, Z, L - k);
  }
}

Line<const float> read_only(Line<float> line) {
  return {line.re, line.im, line.stride};
}

template <class Float>
Line<Float> exchanged(Line<Float> line) {
  return {line.im, line.re, line.stride};
}

/// Prefetches column v of the spectra, whose points are in as many pages, during the work on
/// another.
HWY_INLINE void prefetch_column(std::int64_t L, const Spectra<const float>& spectra,
                                std::int64_t v) {
  for (std::int64_t f = v * L; f < (v + 1) * L; ++f) {
    hwy::Prefetch(spectra.re + f * spectra.stride);
    hwy::Prefetch(spectra.im + f * spectra.stride);
  }
}

/// Whether the spectra of a block exceed a core's caches, so that writing to these would only add
/// reads of their lines.
bool passes_cache(std::int64_t L, std::int64_t stride) {
  constexpr std::int64_t nearest_caches = std::int64_t{2} << 20;
  const bool whole_lines = sizeof(float) * hn::Lanes(Floats()) == 64;
  return whole_lines && frequencies(L) * stride * std::int64_t{sizeof(float)} > nearest_caches;
}

template <Store how>
void transform_columns(const BatchedPlan& plan, const Workspace& work,
                       const Spectra<float>& spectra) {
  for (std::int64_t v = 0; v <= plan.L / 2; ++v) {
    const std::int64_t at = v * plan.L * spectra.stride;
    transform_line<how>(plan.stages, read_only(work.column(v)),
                        {spectra.re + at, spectra.im + at, spectra.stride}, work.spare());
  }
}

void forward_planes(const BatchedPlan& plan, std::span<const Source> planes,
                    const Spectra<float>& spectra, float* workspace) {
  const std::int64_t L = plan.L;
  const Workspace work(L, workspace);
  const RowSpan used = rows_used(planes);
  work.clear_rows(0, used.first);
  work.clear_rows(used.last, L);
  work.clear_staging();
  for (std::int64_t y = used.first; y < used.last; y += 2) {
    gather_row(L, planes, y, work, work.pair().re);
    gather_row(L, planes, y + 1, work, work.pair().im);
    transform_line(plan.stages, read_only(work.pair()), work.transformed_pair(), work.spare());
    separate(L, read_only(work.transformed_pair()), work.row(y), work.row(y + 1));
  }
  if (passes_cache(L, spectra.stride)) {
    transform_columns<Store::past_cache>(plan, work, spectra);
    hwy::FlushStream();
  } else {
    transform_columns<Store::cached>(plan, work, spectra);
  }
}

void inverse_planes(const BatchedPlan& plan, const Spectra<const float>& spectra,
                    std::span<const Target> planes, float* workspace) {
  const std::int64_t L = plan.L;
  const Workspace work(L, workspace);
  const float scale = 1.0F / static_cast<float>(L * L);
  for (std::int64_t v = 0; v <= L / 2; ++v) {
    const std::int64_t at = v * L * spectra.stride;
    if (v < L / 2) prefetch_column(L, spectra, v + 1);
    transform_line(plan.stages, {spectra.im + at, spectra.re + at, spectra.stride},
                   exchanged(work.column(v)), work.spare());
  }
  const RowSpan used = rows_used(planes);
  for (std::int64_t y = used.first; y < used.last; y += 2) {
    combine(L, read_only(work.row(y)), read_only(work.row(y + 1)), scale, work.transformed_pair());
    transform_line(plan.stages, exchanged(read_only(work.transformed_pair())),
                   exchanged(work.pair()), work.spare());
    scatter_row(L, planes, y, work.pair().re, work);
    scatter_row(L, planes, y + 1, work.pair().im, work);
  }
}

std::int64_t lanes() {
  return static_cast<std::int64_t>(hn::Lanes(Floats()));
}

std::int64_t workspace_floats(std::int64_t L) {
  return Workspace::floats(L);
}

const char* instruction_set() {
  return hwy::TargetName(HWY_TARGET);
}

}  // namespace dlscale::backend::native_device::spectral::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace dlscale::backend::native_device::spectral {

HWY_EXPORT(forward_planes);
HWY_EXPORT(inverse_planes);
HWY_EXPORT(lanes);
HWY_EXPORT(workspace_floats);
HWY_EXPORT(instruction_set);

namespace {

class BatchedTransform final : public FourierTransform {
 public:
  explicit BatchedTransform(std::int64_t L) : plan_{L, make_stages(L)} {}

  [[nodiscard]] std::string implementation() const override {
    std::string name = HWY_DYNAMIC_DISPATCH(instruction_set)();
    std::transform(name.begin(), name.end(), name.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return name;
  }

  [[nodiscard]] std::int64_t batch() const override { return HWY_DYNAMIC_DISPATCH(lanes)(); }

  [[nodiscard]] std::size_t workspace_bytes() const override {
    return sizeof(float) *
           static_cast<std::size_t>(HWY_DYNAMIC_DISPATCH(workspace_floats)(plan_.L));
  }

  void forward(std::span<const Source> planes, const Spectra<float>& spectra,
               std::byte* workspace) const override {
    HWY_DYNAMIC_DISPATCH(forward_planes)
    (plan_, planes, spectra, reinterpret_cast<float*>(workspace));
  }

  void inverse(const Spectra<const float>& spectra, std::span<const Target> planes,
               std::byte* workspace) const override {
    HWY_DYNAMIC_DISPATCH(inverse_planes)
    (plan_, spectra, planes, reinterpret_cast<float*>(workspace));
  }

 private:
  BatchedPlan plan_;
};

}  // namespace

std::unique_ptr<FourierTransform> make_batched_transform(std::int64_t L) {
  return std::make_unique<BatchedTransform>(L);
}

const FourierLibrary own{"own", "ours: a plane in every lane of a vector, powers of two up to 256",
                         make_batched_transform};

}  // namespace dlscale::backend::native_device::spectral
#endif
