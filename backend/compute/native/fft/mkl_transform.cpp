#include <mkl_dfti.h>
#include <mkl_service.h>

#include <array>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <type_traits>

#include "backend/compute/native/fft/fourier_library.hpp"
#include "backend/compute/native/fft/plane_pixels.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::native_device::spectral {

namespace {

/// The memory of a call: B planes as for_pixels() stores them, and their spectra. Frequency f of
/// plane b is (spectra[2 · (f · B + b)], spectra[2 · (f · B + b) + 1]). MKL has no split complex
/// numbers for real data ("DFTI_CONJUGATE_EVEN_STORAGE" of its developer reference).
struct MklWorkspace {
  float* pixels;
  float* spectra;

  MklWorkspace(std::int64_t L, float* memory) : pixels(memory), spectra(memory + L * L * B) {}
  static std::int64_t floats(std::int64_t L) { return (L * L + 2 * frequencies(L)) * B; }
};

void check(MKL_LONG status, const std::string& call) {
  if (DftiErrorClass(status, DFTI_NO_ERROR) != 0) return;
  throw LibraryError(call + " of MKL failed (" + DftiErrorMessage(status) +
                     "). Choose another algorithm.");
}

struct Free {
  void operator()(DFTI_DESCRIPTOR_HANDLE descriptor) const { DftiFreeDescriptor(&descriptor); }
};
using Descriptor = std::unique_ptr<std::remove_pointer_t<DFTI_DESCRIPTOR_HANDLE>, Free>;

/// A descriptor for both directions; pixels are its forward domain.
Descriptor make_descriptor(std::int64_t L) {
  const std::array<MKL_LONG, 2> points{L, L};
  const std::array<MKL_LONG, 3> pixels{0, L * B, B};  // offset, row stride, pixel stride
  const std::array<MKL_LONG, 3> spectra{0, B, L * B};
  DFTI_DESCRIPTOR_HANDLE handle = nullptr;
  check(DftiCreateDescriptor(&handle, DFTI_SINGLE, DFTI_REAL, 2, points.data()),
        "DftiCreateDescriptor");
  Descriptor made(handle);
  const auto set = [&](DFTI_CONFIG_PARAM parameter, auto value) {
    check(DftiSetValue(handle, parameter, value), "DftiSetValue");
  };
  set(DFTI_PLACEMENT, DFTI_NOT_INPLACE);
  set(DFTI_CONJUGATE_EVEN_STORAGE, DFTI_COMPLEX_COMPLEX);
  set(DFTI_NUMBER_OF_TRANSFORMS, static_cast<MKL_LONG>(B));
  set(DFTI_FWD_DISTANCE, static_cast<MKL_LONG>(1));
  set(DFTI_BWD_DISTANCE, static_cast<MKL_LONG>(1));
  set(DFTI_FWD_STRIDES, pixels.data());
  set(DFTI_BWD_STRIDES, spectra.data());
  set(DFTI_BACKWARD_SCALE, 1.0 / static_cast<double>(L * L));
  check(DftiCommitDescriptor(handle), "DftiCommitDescriptor");
  return made;
}

/// Descriptors are made once and kept. Several threads may compute by one descriptor at once, each
/// on memory of its own ("Examples of Using Multi-threading for FFT Computation" of the developer
/// reference).
DFTI_DESCRIPTOR_HANDLE descriptor_of(std::int64_t L) {
  static std::mutex maker;
  static std::map<std::int64_t, Descriptor> made;
  const std::lock_guard<std::mutex> alone(maker);
  Descriptor& found = made[L];
  if (!found) found = make_descriptor(L);
  return found.get();
}

/// MKL's transforms of real data by its own interface, DFTI.
class MklTransform final : public FourierTransform {
 public:
  explicit MklTransform(std::int64_t L) : L_(L), descriptor_(descriptor_of(L)) {}

  /// "mkl-2026.2"
  [[nodiscard]] std::string implementation() const override {
    MKLVersion version;
    mkl_get_version(&version);
    return "mkl-" + std::to_string(version.MajorVersion) + "." +
           std::to_string(version.UpdateVersion);
  }
  [[nodiscard]] std::int64_t batch() const override { return B; }
  [[nodiscard]] std::size_t workspace_bytes() const override {
    return sizeof(float) * static_cast<std::size_t>(MklWorkspace::floats(L_));
  }

  void forward(std::span<const Source> planes, const Spectra<float>& spectra,
               std::byte* workspace) const override {
    const MklWorkspace work(L_, reinterpret_cast<float*>(workspace));
    fill_pixels(planes, L_, work.pixels);
    check(DftiComputeForward(descriptor_, work.pixels, work.spectra), "DftiComputeForward");
    for (std::int64_t f = 0; f < frequencies(L_); ++f) {
      const float* from = work.spectra + 2 * f * B;
      float* re = spectra.re + f * spectra.stride;
      float* im = spectra.im + f * spectra.stride;
      for (std::int64_t b = 0; b < B; ++b) {
        re[b] = from[2 * b];
        im[b] = from[2 * b + 1];
      }
    }
  }

  void inverse(const Spectra<const float>& spectra, std::span<const Target> planes,
               std::byte* workspace) const override {
    const MklWorkspace work(L_, reinterpret_cast<float*>(workspace));
    for (std::int64_t f = 0; f < frequencies(L_); ++f) {
      float* to = work.spectra + 2 * f * B;
      const float* re = spectra.re + f * spectra.stride;
      const float* im = spectra.im + f * spectra.stride;
      for (std::int64_t b = 0; b < B; ++b) {
        to[2 * b] = re[b];
        to[2 * b + 1] = im[b];
      }
    }
    check(DftiComputeBackward(descriptor_, work.spectra, work.pixels), "DftiComputeBackward");
    for_pixels(planes, L_, [&](float& pixel, std::int64_t at) { pixel = work.pixels[at]; });
  }

 private:
  std::int64_t L_;
  DFTI_DESCRIPTOR_HANDLE descriptor_;
};

std::unique_ptr<FourierTransform> make_mkl(std::int64_t L) {
  EXPECT(L >= 4 && L <= max_transform_points && (L & (L - 1)) == 0);
  return std::make_unique<MklTransform>(L);
}

}  // namespace

extern const FourierLibrary mkl;
const FourierLibrary mkl{.name = "mkl",
                         .doc = "Intel's oneMKL, single precision; its transforms are copied",
                         .make = make_mkl};

}  // namespace dlscale::backend::native_device::spectral
