#pragma once
#include <memory>
#include <string>

#include "backend/compute/native/convolution/convolution.hpp"
#include "backend/compute/native/fft/fourier_transform.hpp"
#include "backend/compute/native/fft/problem.hpp"
#include "core/convolution/spectra.hpp"

namespace dlscale::backend::native_device::spectral {

/// Limit of the spectra that a pass holds at once, whatever the shape; a pass that would exceed it
/// is cut into blocks. Every thread also has the workspace of its transform (L ≤ 32: 0.1 MiB, L =
/// 256: 4.2 MiB) and a copy of Â at one frequency.
using convolution::spectra_limit_bytes;

/// Transforms the planes of both operands, multiplies the matrices of every frequency, and
/// transforms the products back. `name` of the algorithm, for implementation().
std::unique_ptr<ConvolutionPass> make_spectral_convolution(
    const std::string& name, const Problem& problem, std::unique_ptr<FourierTransform> transform,
    int threads, std::int64_t limit_bytes = spectra_limit_bytes);

}  // namespace dlscale::backend::native_device::spectral
