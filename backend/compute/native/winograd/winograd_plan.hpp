#pragma once
#include <algorithm>
#include <memory>
#include <string>

#include "backend/compute/native/convolution/convolution.hpp"
#include "backend/compute/native/convolution/workers.hpp"
#include "backend/compute/native/winograd/winograd_kernels.hpp"
#include "core/convolution/tile_blocks.hpp"

/// Tiles and memory that the passes of Winograd convolution share, in the blocks of
/// core/convolution.
namespace dlscale::backend::native_device::winograd {

using convolution::Blocks;
using convolution::Schedule;
using convolution::Stack;

/// The tiles of one pass, cut into blocks.
class Tiling {
 public:
  /// `channels`: number of planes of transformed tiles that are held at once.
  Tiling(int m, Index images, Index out_height, Index out_width, Index channels, Schedule schedule,
         int threads);

  [[nodiscard]] int m() const { return m_; }
  [[nodiscard]] Index alpha() const { return m_ + 2; }
  [[nodiscard]] int threads() const { return threads_; }
  [[nodiscard]] Schedule schedule() const { return schedule_; }
  /// Number of blocks of tiles that are held at once: one, or one per thread.
  [[nodiscard]] Index holders() const { return schedule_ == Schedule::fused ? threads_ : 1; }
  [[nodiscard]] const TileGrid& grid() const { return grid_; }
  [[nodiscard]] const Blocks& blocks() const { return blocks_; }

  /// Number of elements of working memory of all threads for read(). Call clear() on it before the
  /// first.
  [[nodiscard]] Index strips() const;
  void clear(float* strips) const { std::fill_n(strips, this->strips(), 0.0F); }

  /// Transforms the tiles of `channels` planes from `first` on to the rows of a stack.
  void read(ReadTiles transform, TileRange tiles, const Planes<const float>& first, Index channels,
            const Stack& stack, float* to, float* strips) const;
  /// The same by the calling thread alone, whose number is `thread`.
  void read_alone(int thread, ReadTiles transform, TileRange tiles,
                  const Planes<const float>& first, Index channels, const Stack& stack, float* to,
                  float* strips) const;

  /// Calls body(e, first row, rows) for each of the alpha² products, each cut into enough parts of
  /// whole rows to keep all threads busy.
  template <class Body>
  void for_products(Index rows, const Body& body) const {
    const Blocks part = convolution::product_parts(rows, alpha(), threads_);
    parallel_for(threads_, alpha() * alpha() * part.count(), [&](Index i, int /*thread*/) {
      const Index first = i % part.count() * part.size;
      body(i / part.count(), first, part.length(first));
    });
  }

 private:
  void read_channel(int thread, ReadTiles transform, TileRange tiles,
                    const Planes<const float>& first, Index channel, const Stack& stack, float* to,
                    float* strips) const;

  int m_;
  int threads_;
  Schedule schedule_;
  TileGrid grid_;
  Blocks blocks_;
  Index strip_stride_;
};

/// Name for 4 outputs and 3 taps: "winograd F(4x4,3x3) avx3+gemm", "winograd F(4x4,3x3) fused
/// avx3+gemm".
std::string implementation_name(const Kernels& kernels, const Tiling& tiling, int outputs,
                                int taps);

// The passes of Winograd convolution by F(m × m, 3 × 3), m = 2, 4 or 6, for shapes that
// winograd.cpp has accepted.

std::unique_ptr<ConvolutionPass> make_forward(const ConvolutionShape& shape, int m,
                                              Schedule schedule, int threads);
std::unique_ptr<ConvolutionPass> make_backward_data(const ConvolutionShape& shape, int m,
                                                    Schedule schedule, int threads);
std::unique_ptr<ConvolutionPass> make_backward_filter(const ConvolutionShape& shape, int m,
                                                      Schedule schedule, int threads);

}  // namespace dlscale::backend::native_device::winograd
