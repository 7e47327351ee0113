#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backend/compute/cuda/kernels/own_operation.hpp"
#include "backend/compute/cuda/transforms/spectral_kernels.hpp"
#include "backend/compute/cuda/transforms/spectral_shape.hpp"
#include "backend/compute/cuda/transforms/transformed_convolution.hpp"

/// Convolution as a product of spectra [Mathieu, Henaff, LeCun, arXiv:1312.5851; Vasilache et al.,
/// arXiv:1412.7580], for stride 1 and any padding and batch. The kernel must fit into a transform
/// of a whole image or into a tile (core/convolution/spectra.hpp has their sizes). Limits:
/// most_device_groups groups, and filter_limit bytes of transformed filters. Rounding errors grow
/// with the largest result, not with each.
namespace dlscale::backend::cuda::transforms {

template <class Launcher, class T, Order order>
class SpectralTransforms final : public Transforms {
 public:
  SpectralTransforms(Launcher launcher, std::string name, const std::string& what,
                     const SpectralShape& shape, const MakeFourier& make, std::int64_t limit)
      : launcher_(std::move(launcher)),
        name_(std::move(name)),
        shape_(shape),
        batch_(batch_of(shape, limit)),
        fourier_(make({what, shape.L, batch_})) {}

  [[nodiscard]] std::string name() const override {
    return name_ + " " + std::to_string(shape_.L) + "x" + std::to_string(shape_.L) + " " +
           fourier_->name();
  }
  [[nodiscard]] Number number() const override { return Number::complex; }
  [[nodiscard]] Factors factors() const override { return spectral_factors(shape_.dtype); }
  [[nodiscard]] Arrangement arrangement() const override { return Arrangement::by_tile; }
  [[nodiscard]] std::int64_t points() const override { return frequencies(shape_.L); }
  [[nodiscard]] std::int64_t tiles() const override { return shape_.tiles(); }
  [[nodiscard]] std::size_t scratch_bytes() const override {
    return plane_bytes() + spectrum_bytes() + aligned(fourier_->scratch_bytes());
  }

  void read_filters(const std::byte* weights, float* to, std::byte* scratch) const override {
    read(shape_.weights, weights, {0, shape_.weights.dims[0]}, to, scratch);
  }
  void read_tiles(const std::byte* from, TileBlock block, float* to,
                  std::byte* scratch) const override {
    read(shape_.pass == Pass::backward_data ? shape_.output : shape_.input, from, block, to,
         scratch);
  }
  void read_gradients(const std::byte* dy, TileBlock block, float* to,
                      std::byte* scratch) const override {
    read(shape_.output, dy, block, to, scratch);
  }
  void write_tiles(const float* from, TileBlock block, std::byte* to,
                   std::byte* scratch) const override {
    write<T>(shape_.pass == Pass::backward_data ? shape_.input : shape_.output, from, block, to,
             scratch);
  }
  void write_filters(const float* from, std::byte* gradient, std::byte* scratch) const override {
    write<float>(shape_.weights, from, {0, shape_.weights.dims[0]}, gradient, scratch);
  }

 private:
  /// Number of planes that a transform takes at once, for any tensor.
  static std::int64_t batch_of(const SpectralShape& shape, std::int64_t limit) {
    const std::int64_t planes =
        std::max(shape.weights.dims[0] * shape.weights.dims[1],
                 shape.tiles() * std::max(shape.input.dims[1], shape.output.dims[1]));
    return convolution::planes_together(shape.L, planes, limit);
  }
  [[nodiscard]] std::size_t plane_bytes() const {
    return aligned(static_cast<std::size_t>(batch_ * shape_.L * shape_.L) * sizeof(float));
  }
  [[nodiscard]] std::size_t spectrum_bytes() const {
    return aligned(static_cast<std::size_t>(batch_ * frequencies(shape_.L)) * sizeof(Complex));
  }

  [[nodiscard]] Planes<order> planes_of(const TensorCut& cut) const {
    const bool filters = &cut == &shape_.weights;
    const auto& [count, channels, height, width] = cut.dims;
    return {{static_cast<std::int32_t>(channels), static_cast<std::int32_t>(height),
             static_cast<std::int32_t>(width)},
            PlaneAxis(cut.y),
            PlaneAxis(cut.x),
            Divisor(channels),
            Divisor(filters ? 1 : shape_.tile_rows * shape_.tile_columns),
            Divisor(filters ? 1 : shape_.tile_columns),
            Divisor(shape_.L),
            static_cast<std::int32_t>(count)};
  }

  /// Calls visit(range, number of all planes, memory) for each batch of planes.
  struct Working {
    float* planes;
    Complex* spectra;
    std::byte* fourier;
  };
  template <class Visit>
  void for_batches(std::int64_t channels, TileBlock block, std::byte* scratch,
                   const Visit& visit) const {
    const Working working{reinterpret_cast<float*>(scratch),
                          reinterpret_cast<Complex*>(scratch + plane_bytes()),
                          scratch + plane_bytes() + spectrum_bytes()};
    const std::int64_t all = block.size * channels;
    for (std::int64_t first = 0; first < all; first += batch_) {
      const PlaneRange range{static_cast<std::uint32_t>(block.first),
                             static_cast<std::uint32_t>(first),
                             static_cast<std::uint32_t>(std::min(batch_, all - first))};
      visit(range, all, working);
    }
  }

  void transpose(const char* name, const TransposedSpectra& code) const {
    launcher_.teams(name, code, code.teams_x(), code.teams_y());
  }

  void read(const TensorCut& cut, const std::byte* from, TileBlock block, float* to,
            std::byte* scratch) const {
    auto* const matrices = reinterpret_cast<Complex*>(to);
    for_batches(cut.dims[1], block, scratch,
                [&](const PlaneRange& range, std::int64_t all, const Working& working) {
                  const PlanesIn<T, order> code{planes_of(cut), range,
                                                reinterpret_cast<const T*>(from), working.planes};
                  launcher_.teams("fft input", code, code.teams_x(), code.teams_y());
                  fourier_->forward(working.planes, working.spectra, working.fourier);
                  transpose("spectra to matrices", {working.spectra, matrices + range.first_plane,
                                                    range.count, points(), points(), all});
                });
  }

  template <class To>
  void write(const TensorCut& cut, const float* from, TileBlock block, std::byte* to,
             std::byte* scratch) const {
    const auto* const matrices = reinterpret_cast<const Complex*>(from);
    const float scale = 1 / static_cast<float>(shape_.L * shape_.L);
    for_batches(cut.dims[1], block, scratch,
                [&](const PlaneRange& range, std::int64_t all, const Working& working) {
                  transpose("matrices to spectra", {matrices + range.first_plane, working.spectra,
                                                    points(), range.count, all, points()});
                  fourier_->inverse(working.spectra, working.planes, working.fourier);
                  const PlanesOut<To, order> code{planes_of(cut), range, scale, working.planes,
                                                  reinterpret_cast<To*>(to)};
                  launcher_.teams("fft output", code, code.teams_x(), code.teams_y());
                });
  }

  Launcher launcher_;
  std::string name_;
  SpectralShape shape_;
  std::int64_t batch_;
  std::unique_ptr<FourierTransform> fourier_;
};

/// The transforms "fft" (whole images) or "fft_tiled" for a pass. Throws Unsupported as
/// whole_shape() and tiled_shape() do.
template <class Launcher>
std::unique_ptr<const Transforms> make_spectral(
    const Launcher& launcher, const ConvolutionProblem& problem, Pass pass,
    image_tiling::Tiling tiling, const MakeFourier& make,
    std::int64_t limit = convolution::device_batch_bytes) {
  const bool whole = tiling == image_tiling::Tiling::whole;
  const SpectralShape shape = whole ? whole_shape(problem, pass) : tiled_shape(problem, pass);
  const char* const name = whole ? "fft" : "fft_tiled";
  std::unique_ptr<const Transforms> made;
  with_element(problem.dtype, [&]<class T>(T) {
    if (problem.order == Order::nhwc) {
      made = std::make_unique<SpectralTransforms<Launcher, T, Order::nhwc>>(
          launcher, name, problem.what, shape, make, limit);
    } else {
      made = std::make_unique<SpectralTransforms<Launcher, T, Order::nchw>>(
          launcher, name, problem.what, shape, make, limit);
    }
  });
  return made;
}

}  // namespace dlscale::backend::cuda::transforms
