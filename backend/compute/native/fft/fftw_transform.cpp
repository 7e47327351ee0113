#include <fftw3.h>

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <type_traits>

#include "backend/compute/native/fft/fourier_library.hpp"
#include "backend/compute/native/fft/plane_pixels.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::native_device::spectral {

namespace {

using Plan = std::unique_ptr<std::remove_pointer_t<fftwf_plan>, void (*)(fftwf_plan)>;

/// The memory of a call: B planes as for_pixels() stores them, and the two parts of their spectra,
/// frequency f of plane b at f · B + b. Both are dense: FFTW plans are valid for one stride only,
/// but spectra are written at many.
struct FftwWorkspace {
  float* pixels;
  float* re;
  float* im;

  FftwWorkspace(std::int64_t L, float* memory)
      : pixels(memory), re(memory + L * L * B), im(re + frequencies(L) * B) {}
  static std::int64_t floats(std::int64_t L) { return (L * L + 2 * frequencies(L)) * B; }
};

fftwf_iodim dimension(std::int64_t n, std::int64_t in, std::int64_t out) {
  return {static_cast<int>(n), static_cast<int>(in), static_cast<int>(out)};
}

struct Plans {
  Plan forward, inverse;
};

/// Plans by trial among FFTW's algorithms (FFTW_MEASURE). The trials overwrite the memory.
Plans make_plans(std::int64_t L) {
  const std::unique_ptr<float, void (*)(void*)> memory(
      fftwf_alloc_real(static_cast<std::size_t>(FftwWorkspace::floats(L))), fftwf_free);
  if (!memory) throw std::bad_alloc();
  const FftwWorkspace work(L, memory.get());
  const fftwf_iodim planes = dimension(B, 1, 1);
  constexpr unsigned flags = FFTW_MEASURE | FFTW_DESTROY_INPUT;
  const fftwf_iodim there[]{dimension(L, L * B, B), dimension(L, B, L * B)};
  const fftwf_iodim back[]{dimension(L, B, L * B), dimension(L, L * B, B)};
  Plans made{
      Plan(
          fftwf_plan_guru_split_dft_r2c(2, there, 1, &planes, work.pixels, work.re, work.im, flags),
          fftwf_destroy_plan),
      Plan(fftwf_plan_guru_split_dft_c2r(2, back, 1, &planes, work.re, work.im, work.pixels, flags),
           fftwf_destroy_plan)};
  if (!made.forward || !made.inverse) {
    throw LibraryError("FFTW made no plan for " + std::to_string(L) + " x " + std::to_string(L) +
                       " points. Choose another algorithm.");
  }
  return made;
}

/// Plans are made once and kept. Only the execution of FFTW plans is thread-safe (its manual,
/// "Thread safety"), also of one plan on different memory.
const Plans& plans_of(std::int64_t L) {
  static std::mutex planner;
  static std::map<std::int64_t, Plans> made;
  const std::lock_guard<std::mutex> alone(planner);
  const auto found = made.find(L);
  return found != made.end() ? found->second : made.emplace(L, make_plans(L)).first->second;
}

/// FFTW's transforms of real data over split complex numbers (its manual, "Guru Real-data DFTs").
class FftwTransform final : public FourierTransform {
 public:
  explicit FftwTransform(std::int64_t L) : L_(L), plans_(plans_of(L)) {}

  /// "fftw-3.3.10-sse2-avx"
  [[nodiscard]] std::string implementation() const override { return fftwf_version; }
  [[nodiscard]] std::int64_t batch() const override { return B; }
  [[nodiscard]] std::size_t workspace_bytes() const override {
    return sizeof(float) * static_cast<std::size_t>(FftwWorkspace::floats(L_));
  }

  void forward(std::span<const Source> planes, const Spectra<float>& spectra,
               std::byte* workspace) const override {
    const FftwWorkspace work(L_, reinterpret_cast<float*>(workspace));
    fill_pixels(planes, L_, work.pixels);
    fftwf_execute_split_dft_r2c(plans_.forward.get(), work.pixels, work.re, work.im);
    for (std::int64_t f = 0; f < frequencies(L_); ++f) {
      std::copy_n(work.re + f * B, B, spectra.re + f * spectra.stride);
      std::copy_n(work.im + f * B, B, spectra.im + f * spectra.stride);
    }
  }

  void inverse(const Spectra<const float>& spectra, std::span<const Target> planes,
               std::byte* workspace) const override {
    const FftwWorkspace work(L_, reinterpret_cast<float*>(workspace));
    for (std::int64_t f = 0; f < frequencies(L_); ++f) {
      std::copy_n(spectra.re + f * spectra.stride, B, work.re + f * B);
      std::copy_n(spectra.im + f * spectra.stride, B, work.im + f * B);
    }
    fftwf_execute_split_dft_c2r(plans_.inverse.get(), work.re, work.im, work.pixels);
    const float scale = 1.0F / static_cast<float>(L_ * L_);
    for_pixels(planes, L_, [&](float& pixel, std::int64_t at) { pixel = scale * work.pixels[at]; });
  }

 private:
  std::int64_t L_;
  const Plans& plans_;
};

std::unique_ptr<FourierTransform> make_fftw(std::int64_t L) {
  EXPECT(L >= 4 && L <= max_transform_points && (L & (L - 1)) == 0);
  return std::make_unique<FftwTransform>(L);
}

}  // namespace

extern const FourierLibrary fftw;
const FourierLibrary fftw{.name = "fftw",
                          .doc = "FFTW 3, single precision; its transforms are copied",
                          .make = make_fftw};

}  // namespace dlscale::backend::native_device::spectral
