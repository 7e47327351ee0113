#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "backend/compute/native/fft/fourier_transform.hpp"
#include "core/base/family.hpp"

namespace dlscale::backend::native_device::spectral {

/// A maker of the transforms for convolutions by FFT: our own, or a library that was built in.
struct FourierLibrary {
  std::string_view name;
  std::string_view doc;
  /// Makes a transform of L × L points, L a power of two from 4 to max_transform_points.
  std::unique_ptr<FourierTransform> (*make)(std::int64_t L);
};

/// Our own: make_batched_transform().
extern const FourierLibrary own;

}  // namespace dlscale::backend::native_device::spectral

namespace dlscale {
template <>
Family<backend::native_device::spectral::FourierLibrary>
family<backend::native_device::spectral::FourierLibrary>();
}  // namespace dlscale
