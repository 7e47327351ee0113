#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "backend/compute/cuda/kernels/own_operation.hpp"
#include "backend/compute/cuda/transforms/transformed_convolution.hpp"
#include "backend/compute/cuda/transforms/winograd_kernels.hpp"
#include "backend/compute/cuda/transforms/winograd_shape.hpp"

/// Winograd's minimal filtering with transforms and products as kernels of their own (A. Lavin and
/// S. Gray, Fast Algorithms for Convolutional Neural Networks, arXiv:1509.09308). Kernel 3 × 3,
/// stride 1, any padding, m × m outputs a tile, alpha = m + 2:
///   forward          Y = Aᵀ [(G g Gᵀ) ⊙ (Bᵀ d B)] A, F(m × m, 3 × 3), summed over C
///   backward_data    the same, of dy with the filters turned by half and pad 2 - pad
///   backward_filter  F(3 × 3, m × m) of x with the tiles of dy as filters, summed over the tiles
namespace dlscale::backend::cuda::transforms {

template <class Launcher, class T, int m, Order order>
class WinogradTransforms final : public Transforms {
 public:
  static constexpr int alpha = m + 2;

  /// `shape` must be of the pass.
  WinogradTransforms(Launcher launcher, const WinogradShape& shape)
      : launcher_(std::move(launcher)), shape_(shape) {}

  [[nodiscard]] std::string name() const override { return winograd_name(m, shape_.pass); }
  [[nodiscard]] Number number() const override { return Number::real; }
  [[nodiscard]] Factors factors() const override { return winograd_factors(m, shape_.dtype); }
  [[nodiscard]] Arrangement arrangement() const override {
    return order == Order::nhwc ? Arrangement::by_tile : Arrangement::by_channel;
  }
  [[nodiscard]] std::int64_t points() const override { return std::int64_t{alpha} * alpha; }
  [[nodiscard]] std::int64_t tiles() const override { return shape_.images * tiles_per_image(); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return 0; }

  void read_filters(const std::byte* weights, float* to, std::byte* /*scratch*/) const override {
    if (shape_.pass == Pass::backward_data) return read<Turn::half>(weights, to);
    read<Turn::none>(weights, to);
  }

  void read_tiles(const std::byte* from, TileBlock block, float* to,
                  std::byte* /*scratch*/) const override {
    read<DataMatrix<alpha>>("winograd input", shape_.input, shape_.pad, from, block, to);
  }

  void read_gradients(const std::byte* dy, TileBlock block, float* to,
                      std::byte* /*scratch*/) const override {
    read<FilterMatrix<3, m>>("winograd gradient", shape_.output, 0, dy, block, to);
  }

  void write_tiles(const float* from, TileBlock block, std::byte* to,
                   std::byte* /*scratch*/) const override {
    const Plane& plane = shape_.output;
    const TilesOut<T, OutputMatrix<m, 3>, order> code{
        images(plane),       grid(0), {block.size, plane.channels, block.first},
        pixels_together(to), from,    reinterpret_cast<T*>(to)};
    launcher_.each("winograd output", code, code.threads());
  }

  void write_filters(const float* from, std::byte* gradient,
                     std::byte* /*scratch*/) const override {
    const FiltersOut<OutputMatrix<3, m>, order> code{Filters<order>(shape_.filter_inputs),
                                                     shape_.filters, from,
                                                     reinterpret_cast<float*>(gradient)};
    launcher_.each("winograd filter gradient", code, code.threads());
  }

 private:
  [[nodiscard]] std::int64_t tile_columns() const { return (shape_.output.width + m - 1) / m; }
  [[nodiscard]] std::int64_t tiles_per_image() const {
    return (shape_.output.height + m - 1) / m * tile_columns();
  }
  [[nodiscard]] TileGrid grid(std::int64_t pad) const {
    return {Divisor(tiles_per_image()), Divisor(tile_columns()),
            static_cast<std::int32_t>(shape_.images), m, static_cast<std::int32_t>(pad)};
  }
  static Images<order> images(const Plane& plane) {
    return {static_cast<std::int32_t>(plane.channels), static_cast<std::int32_t>(plane.height),
            static_cast<std::int32_t>(plane.width)};
  }

  /// Number of consecutive pixels of a tile that can be written at once.
  [[nodiscard]] int pixels_together(const std::byte* to) const {
    int together = order == Order::nchw ? m : 1;
    const auto fits = [&](int pixels) {
      return shape_.output.width % pixels == 0 &&
             all_aligned({to}, static_cast<std::size_t>(pixels) * sizeof(T));
    };
    while (!fits(together)) together /= 2;
    return together;
  }

  template <class M>
  void read(const char* name, const Plane& plane, std::int64_t pad, const std::byte* from,
            TileBlock block, float* to) const {
    const TilesIn<T, M, order> code{images(plane),
                                    grid(pad),
                                    {block.size, plane.channels, block.first},
                                    reinterpret_cast<const T*>(from),
                                    to};
    launcher_.each(name, code, code.threads());
  }

  template <Turn turn>
  void read(const std::byte* weights, float* to) const {
    const FiltersIn<T, FilterMatrix<m, 3>, order, turn> code{
        Filters<order>(shape_.filter_inputs), shape_.filters, reinterpret_cast<const T*>(weights),
        to};
    launcher_.each("winograd filter", code, code.threads());
  }

  Launcher launcher_;
  WinogradShape shape_;
};

/// The transforms of F(m × m, 3 × 3), m = 2 or 4, for a pass. Throws Unsupported for convolutions
/// that are not 3 × 3 with stride 1, or have more than 2^30 tiles or filters.
template <int m, class Launcher>
std::unique_ptr<const Transforms> make_winograd(const Launcher& launcher,
                                                const ConvolutionProblem& problem, Pass pass) {
  const WinogradShape shape = winograd_shape(problem, pass, m);
  std::unique_ptr<const Transforms> made;
  with_element(problem.dtype, [&]<class T>(T) {
    if (problem.order == Order::nhwc) {
      made = std::make_unique<WinogradTransforms<Launcher, T, m, Order::nhwc>>(launcher, shape);
    } else {
      made = std::make_unique<WinogradTransforms<Launcher, T, m, Order::nchw>>(launcher, shape);
    }
  });
  return made;
}

}  // namespace dlscale::backend::cuda::transforms
