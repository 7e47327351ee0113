#pragma once
#include <vector>

#include "backend/compute/native/convolution/convolution.hpp"
#include "backend/compute/native/fft/fourier_library.hpp"

namespace dlscale::backend::native_device {

/// Convolution as a product of spectra [Mathieu, Henaff, LeCun, arXiv:1312.5851; Vasilache et al.,
/// arXiv:1412.7580]: all three passes, any kernel, pad, batch and groups; stride 1. Rounding errors
/// grow with the largest result, not with each, as in every convolution by FFT. Memory: at most
/// spectra_limit_bytes, as much again for kept spectra of filters, and a few MiB for every thread.

/// One transform per image: 4 … 256 points each way, a power of two ≥ image + pad.
extern const ConvolutionAlgorithm fft;

/// Overlap-save: tiles of 8, 16 or 32 points each way, whichever need the fewest operations; one
/// tile where it holds the whole image. The kernel is at most 32 × 32; in backward_filter this is
/// the kernel of the forward convolution.
extern const ConvolutionAlgorithm fft_tiled;

/// Both algorithms by the transforms of a library: "fft_fftw", "fft_tiled_fftw"; "fft_mkl",
/// "fft_tiled_mkl".
std::vector<ConvolutionAlgorithm> fft_by(const spectral::FourierLibrary& library);

/// fft_by() of every built-in library other than our own.
const std::vector<ConvolutionAlgorithm>& fft_by_libraries();

}  // namespace dlscale::backend::native_device
