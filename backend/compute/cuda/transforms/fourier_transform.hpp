#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "backend/compute/cuda/runtime/host_device_code.hpp"
#include "core/convolution/spectra.hpp"

/// Fourier transforms of many planes at once, by a library.
namespace dlscale::backend::cuda::transforms {

struct alignas(2 * sizeof(float)) Complex {
  float re;
  float im;
};

using convolution::frequencies;

/// Transforms of contiguous planes: planes of L rows of L points, spectra of L rows of L/2 + 1
/// numbers.
class FourierTransform {
 public:
  virtual ~FourierTransform() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;
  /// X[u, v] = Σ_{y, x} plane[y, x] · exp(-2πi (u·y + v·x) / L). Enqueues, as inverse() does;
  /// `scratch` begins on a multiple of 256 bytes.
  virtual void forward(const float* planes, Complex* spectra, std::byte* scratch) = 0;
  /// Computes L² times the inverse. May overwrite `spectra` with anything.
  virtual void inverse(Complex* spectra, float* planes, std::byte* scratch) = 0;
};

/// Size and number of the planes to transform.
struct FourierProblem {
  std::string what;  ///< the layer with its shapes, for messages
  std::int64_t L;
  std::int64_t planes;
};

using MakeFourier = std::function<std::unique_ptr<FourierTransform>(const FourierProblem&)>;

}  // namespace dlscale::backend::cuda::transforms
