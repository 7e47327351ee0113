#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/gemm/batched_product.hpp"
#include "core/convolution/tile_blocks.hpp"

/// Convolutions as products of transforms. Winograd's and Fourier's differ only in the transforms.
namespace dlscale::backend::cuda::transforms {

/// A block of tiles, which are counted over all images. All blocks of a pass have one size; the
/// last block may contain tiles beyond the end.
struct TileBlock {
  std::int64_t first;
  std::int64_t size;
};

/// Order of transformed channels at each point: [tile][channel] or [channel][tile].
enum class Arrangement { by_tile, by_channel };

/// The transforms of one pass of one convolution. At each of points() points they make a matrix K ×
/// C/groups of the filters, and a matrix tiles × channels of each block of tiles. All enqueue.
class Transforms {
 public:
  virtual ~Transforms() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  [[nodiscard]] virtual Number number() const = 0;
  /// The fastest precision of the factors that keeps that of the convolution (see allowed_error()).
  [[nodiscard]] virtual Factors factors() const = 0;
  [[nodiscard]] virtual Arrangement arrangement() const = 0;
  [[nodiscard]] virtual std::int64_t points() const = 0;
  [[nodiscard]] virtual std::int64_t tiles() const = 0;
  /// Largest workspace of any of the following functions.
  [[nodiscard]] virtual std::size_t scratch_bytes() const = 0;

  // forward and backward_data
  virtual void read_filters(const std::byte* weights, float* to, std::byte* scratch) const = 0;
  /// Reads tiles of the input of the pass; in backward_filter, of x.
  virtual void read_tiles(const std::byte* from, TileBlock block, float* to,
                          std::byte* scratch) const = 0;
  virtual void write_tiles(const float* from, TileBlock block, std::byte* to,
                           std::byte* scratch) const = 0;
  // backward_filter
  virtual void read_gradients(const std::byte* dy, TileBlock block, float* to,
                              std::byte* scratch) const = 0;
  virtual void write_filters(const float* from, std::byte* gradient, std::byte* scratch) const = 0;
};

/// Throws Unsupported if a pass has more tiles or filters, `most`, than the kernels count. All
/// counts stay below 2^31, although blocks may end beyond the last tile.
void expect_countable(const ConvolutionProblem& problem, std::int64_t most);

/// Most bytes of the transformed filters.
constexpr std::size_t filter_limit = std::size_t{1} << 30;
/// Unlimited scratch.
constexpr std::size_t any_scratch = std::numeric_limits<std::size_t>::max();
/// Limits of a convolution's working memory, in bytes.
struct Limits {
  /// Approximate limit of the transformed tiles of a block, inputs and outputs together.
  std::int64_t block = convolution::device_block_bytes;
  std::size_t scratch = any_scratch;  ///< all transformed tensors, without the products' scratch
};

/// One pass without its bias. Scratch holds the inputs and outputs of the products:
///   forward          for each block of tiles, Y = X Wᵀ at each point
///   backward_data    the same with dY, W and dX
///   backward_filter  dW = Σ dYᵀ X over the blocks
/// With complex numbers forward uses Wᴴ, and backward_filter dYᴴ (see image_tiling.hpp for the
/// meaning).
class TransformedConvolution {
 public:
  /// Throws Unsupported for what the algorithm cannot do, and if it needs more than `limits`,
  /// before it makes a product. Throws it afterwards if the product is not offered.
  TransformedConvolution(const ConvolutionProblem& problem, Pass pass,
                         std::unique_ptr<const Transforms> transforms, const MakeProduct& make,
                         const Limits& limits = {});

  [[nodiscard]] std::string name() const;
  [[nodiscard]] std::size_t scratch_bytes() const;
  /// Enqueues the pass; `scratch` begins on a multiple of 256 bytes.
  void run(const ConvolutionMemory& memory, std::byte* scratch) const;

 private:
  struct Sizes {
    std::int64_t groups, inputs, outputs;  ///< inputs (C) and outputs (K) of a group
    std::int64_t block;                    ///< tiles
    std::int64_t blocks;
  };
  /// Addresses of the transformed tensors.
  struct Places {
    float* filters;
    float* inputs;   ///< C channels per tile
    float* outputs;  ///< K channels per tile
    std::byte* product;
    std::byte* transform;
  };
  [[nodiscard]] BatchedProblem product_problem(const ConvolutionProblem& problem) const;
  /// Alignment of groups and matrices, which begin a fixed number of elements after each other.
  [[nodiscard]] std::uint32_t alignment_of(const BatchedProblem& problem) const;
  [[nodiscard]] Sizes sizes_of(const ConvolutionProblem& problem, std::int64_t limit) const;
  [[nodiscard]] std::unique_ptr<BatchedProduct> make_product(const ConvolutionProblem& problem,
                                                             const MakeProduct& make,
                                                             std::size_t most_scratch) const;
  void expect_offered(const ConvolutionProblem& problem) const;
  [[nodiscard]] std::size_t bytes(std::int64_t elements) const;
  [[nodiscard]] std::size_t transformed_bytes() const;
  [[nodiscard]] std::size_t filter_bytes() const;
  [[nodiscard]] std::size_t tile_bytes(std::int64_t channels) const;
  [[nodiscard]] Places places(std::byte* scratch) const;
  [[nodiscard]] TileBlock block(std::int64_t number) const;
  /// Distance between the first channels of consecutive groups, in elements of each place.
  [[nodiscard]] std::int64_t filter_step() const;
  [[nodiscard]] std::int64_t tile_step(std::int64_t channels) const;
  void multiply(const Places& places, Sum sum) const;
  void run_correlation(const std::byte* from, const std::byte* weights, std::byte* to,
                       const Places& places) const;
  void run_gradient(const ConvolutionMemory& memory, const Places& places) const;

  Pass pass_;
  std::unique_ptr<const Transforms> transforms_;
  Sizes sizes_;
  std::unique_ptr<BatchedProduct> product_;
};

}  // namespace dlscale::backend::cuda::transforms
