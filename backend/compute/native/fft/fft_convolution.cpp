#include "backend/compute/native/fft/fft_convolution.hpp"

#include <string>
#include <utility>

#include "backend/compute/native/fft/problem.hpp"
#include "backend/compute/native/fft/spectral_convolution.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::native_device {

namespace {

using spectral::FourierLibrary, spectral::make_problem, spectral::Tiling;

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

/// An algorithm by the transforms of a library.
struct Method {
  std::string name;
  const FourierLibrary* library;
};

std::unique_ptr<ConvolutionPass> make_whole(const Method& method, const ConvolutionShape& shape,
                                            Pass pass, int threads) {
  require_offered(shape, pass);
  const std::int64_t L = convolution::points_for_whole(shape);
  if (L > spectral::max_transform_points) {
    refuse(shape, "an image that needs " + std::to_string(L) +
                      " points each way: fft has at most " +
                      std::to_string(spectral::max_transform_points) +
                      "; fft_tiled takes images of any size, by tiles of 32 x 32");
  }
  return spectral::make_spectral_convolution(
      method.name, make_problem(shape, pass, L, Tiling::whole), method.library->make(L), threads);
}

std::unique_ptr<ConvolutionPass> make_tiled(const Method& method, const ConvolutionShape& shape,
                                            Pass pass, int threads) {
  require_offered(shape, pass);
  const convolution::TileChoice tile = convolution::choose_tile(shape, pass);
  if (tile.L == 0) {
    refuse(shape, "a kernel of " + std::to_string(shape.kernel_h) + " x " +
                      std::to_string(shape.kernel_w) + ": the tiles of fft_tiled are 32 x 32");
  }
  return spectral::make_spectral_convolution(method.name,
                                             make_problem(shape, pass, tile.L, tile.tiling),
                                             method.library->make(tile.L), threads);
}

using Make = std::unique_ptr<ConvolutionPass> (*)(const Method&, const ConvolutionShape&, Pass,
                                                  int);

ConvolutionAlgorithm algorithm(const Method& method, const std::string& doc, Make make) {
  return {method.name, doc,
          [method, make](const ConvolutionShape& shape, Pass pass, int threads) {
            return make(method, shape, pass, threads);
          },
          true};
}

}  // namespace

extern const ConvolutionAlgorithm fft =
    algorithm({"fft", &spectral::own},
              "products of the spectra of whole images, up to 256 x 256; stride 1", make_whole);

extern const ConvolutionAlgorithm fft_tiled =
    algorithm({"fft_tiled", &spectral::own},
              "products of the spectra of overlapping tiles (overlap-save); stride 1", make_tiled);

std::vector<ConvolutionAlgorithm> fft_by(const FourierLibrary& library) {
  const std::string name(library.name);
  return {
      algorithm({"fft_" + name, &library}, "fft by transforms of " + name, make_whole),
      algorithm({"fft_tiled_" + name, &library}, "fft_tiled by transforms of " + name, make_tiled)};
}

const std::vector<ConvolutionAlgorithm>& fft_by_libraries() {
  static const std::vector<ConvolutionAlgorithm> all = [] {
    std::vector<ConvolutionAlgorithm> made;
    for (const FourierLibrary* library : family<FourierLibrary>().members) {
      if (library == &spectral::own) continue;
      for (ConvolutionAlgorithm& one : fft_by(*library)) made.push_back(std::move(one));
    }
    return made;
  }();
  return all;
}

}  // namespace dlscale::backend::native_device
