#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "core/convolution/spectra.hpp"

/// Fourier transforms of many small planes at once, as convolutions by FFT need them.
namespace dlscale::backend::native_device::spectral {

/// A rectangle of an image, and its position in a plane of L × L points that is zero elsewhere. May
/// be empty.
template <class Float>
struct Window {
  Float* pixels = nullptr;             ///< the first of the rectangle
  std::int64_t row_stride = 0;         ///< elements between rows of the image
  std::int64_t rows = 0, columns = 0;  ///< size of the rectangle
  /// Position in the plane; top + rows and left + columns are ≤ L.
  std::int64_t top = 0, left = 0;
};
using Source = Window<const float>;
using Target = Window<float>;

/// Half the spectra of a batch of real planes (the other half is its conjugate), side by side.
/// Frequency f = v · L + u of plane b is re[f · stride + b] + i · im[f · stride + b], where v = 0 …
/// L/2 counts waves along a row and u = 0 … L-1 waves along a column. The addresses re and im, and
/// stride, are multiples of batch() floats.
template <class Float>
struct Spectra {
  Float* re;
  Float* im;
  std::int64_t stride;  ///< elements between frequencies
};

using convolution::frequencies;

/// Two-dimensional transforms of L × L real points. Planes are the fastest dimension, as in FFTW's
/// guru interface and MKL's DFTI. Real and imaginary parts are separate, which of these two only
/// FFTW supports.
class FourierTransform {
 public:
  virtual ~FourierTransform() = default;
  /// Name of the implementation: "avx3".
  [[nodiscard]] virtual std::string implementation() const = 0;
  /// Number of planes that a call transforms, at most max_transform_batch. `planes` may be fewer;
  /// the spectra always hold the full number.
  [[nodiscard]] virtual std::int64_t batch() const = 0;
  /// Size of a call's workspace, a multiple of 64. The workspace must begin at a multiple of 64.
  [[nodiscard]] virtual std::size_t workspace_bytes() const = 0;
  /// X[u, v] = Σ_{y, x} plane[y, x] · exp(-2πi (u·y + v·x) / L). Spectra beyond `planes` are zero.
  virtual void forward(std::span<const Source> planes, const Spectra<float>& spectra,
                       std::byte* workspace) const = 0;
  /// The inverse of `forward`, divided by L². Writes only the window of every plane.
  virtual void inverse(const Spectra<const float>& spectra, std::span<const Target> planes,
                       std::byte* workspace) const = 0;
};

/// The smallest L of `make_batched_transform` is 4.
using convolution::max_transform_batch;
using convolution::max_transform_points;

/// Our own transform of L × L points, L a power of two. Every SIMD lane holds another plane, so
/// that no transform moves data between lanes [Vasilache et al., arXiv:1412.7580, section 5].
std::unique_ptr<FourierTransform> make_batched_transform(std::int64_t L);

}  // namespace dlscale::backend::native_device::spectral
