#include "backend/compute/native/fft_convolution.hpp"

#include <string>

#include "backend/compute/native/fft/fourier_transform.hpp"
#include "backend/compute/native/fft/problem.hpp"
#include "backend/compute/native/fft/spectral_convolution.hpp"
#include "core/error.hpp"

namespace dlscale::backend::native_device {

namespace {

using spectral::make_problem, spectral::Tiling;

[[noreturn]] void refuse(const ConvolutionShape& shape, const std::string& why) {
  throw Unsupported(why + " (a convolution of " + describe(shape) + ").");
}

void require_offered(const ConvolutionShape& shape, Pass pass) {
  if (pass == Pass::accumulate) refuse(shape, "accumulate: a convolution has no such pass");
  if (shape.stride != 1) {
    refuse(shape, "stride " + std::to_string(shape.stride) +
                      ": FFT needs 1, as it computes every output and would discard most");
  }
}

std::unique_ptr<ConvolutionPass> make_whole(const ConvolutionShape& shape, Pass pass, int threads) {
  require_offered(shape, pass);
  const std::int64_t L = lowering::points_for_whole(shape);
  if (L > spectral::max_transform_points) {
    refuse(shape,
           "an image that needs " + std::to_string(L) + " points each way: fft has at most " +
               std::to_string(spectral::max_transform_points) + "; fft_tiled has no such limit");
  }
  return spectral::make_spectral_convolution("fft", make_problem(shape, pass, L, Tiling::whole),
                                             spectral::make_batched_transform(L), threads);
}

std::unique_ptr<ConvolutionPass> make_tiled(const ConvolutionShape& shape, Pass pass, int threads) {
  require_offered(shape, pass);
  const lowering::TileChoice tile = lowering::choose_tile(shape, pass);
  if (tile.L == 0) {
    refuse(shape, "a kernel of " + std::to_string(shape.kernel_h) + " x " +
                      std::to_string(shape.kernel_w) + ": the tiles of fft_tiled are 32 x 32");
  }
  return spectral::make_spectral_convolution("fft_tiled",
                                             make_problem(shape, pass, tile.L, tile.tiling),
                                             spectral::make_batched_transform(tile.L), threads);
}

}  // namespace

extern const ConvolutionAlgorithm fft{
    "fft", "products of the spectra of whole images, up to 256 x 256; stride 1", make_whole};

extern const ConvolutionAlgorithm fft_tiled{
    "fft_tiled", "products of the spectra of overlapping tiles (overlap-save); stride 1",
    make_tiled};

}  // namespace dlscale::backend::native_device
