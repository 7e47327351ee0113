#pragma once
#include <cstdint>
#include <memory>
#include <string_view>

#include "backend/compute/native/fft/fourier_transform.hpp"
#include "core/base/family.hpp"

namespace dlscale::backend::native_device::spectral {

/// What makes the transforms that convolutions by FFT need: ours, and libraries that were built in.
struct FourierLibrary {
  std::string_view name;
  std::string_view doc;
  /// Of L × L points, L a power of two from 4 to max_transform_points.
  std::unique_ptr<FourierTransform> (*make)(std::int64_t L);
};

/// Ours: make_batched_transform().
extern const FourierLibrary own;

}  // namespace dlscale::backend::native_device::spectral

namespace dlscale {
template <>
Family<backend::native_device::spectral::FourierLibrary>
family<backend::native_device::spectral::FourierLibrary>();
}  // namespace dlscale
