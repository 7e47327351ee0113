#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/convolution/tile_blocks.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/step.hpp"

namespace dlscale::convolution {

/// Method by which a convolution is computed.
enum class Method {
  direct,  ///< directly, or as an implicit GEMM without a patch matrix: direct_flops() operations
  im2col,  ///< patches are written as a matrix, then GEMM
  winograd_f2,
  winograd_f4,
  winograd_f6,
  winograd_f2_fused,  ///< all stages on small blocks of tiles, each block by one thread
  winograd_f4_fused,
  winograd_f6_fused,
  fft,        ///< on whole images
  fft_tiled,  ///< on overlapping tiles
  fft_fftw,   ///< like these two, with the transforms of FFTW or MKL
  fft_tiled_fftw,
  fft_mkl,
  fft_tiled_mkl,
};
inline constexpr Method last_method = Method::fft_tiled_mkl;
std::span<const Method> all_methods();
/// "winograd_f4": the name for users and in our own algorithms.
std::string_view method_name(Method method);
/// Throws ConfigError.
Method parse_method(std::string_view name);

/// Families of methods: all members count their work by the same formulas.
enum class MethodFamily {
  direct,
  im2col,
  winograd,
  fft,        ///< on whole images
  fft_tiled,  ///< on overlapping tiles
};
MethodFamily family_of(Method method);

/// Outputs per tile and dimension: 2, 4 or 6. Requires a Winograd method.
int winograd_outputs(Method method);
/// Whether it is a Winograd method that runs all stages block by block.
bool is_fused(Method method);
/// Order of its stages. Requires a Winograd method.
Schedule winograd_schedule(Method method);

/// Whether it multiplies spectra of whole images, or of overlapping tiles.
bool transforms_images(Method method);
bool transforms_tiles(Method method);
/// Whether the transforms are those of a linked library rather than our own.
bool by_library(Method method);

/// Owner of an algorithm, which decides how it cuts its work.
enum class Blocking {
  ours,    ///< the backend native, with its own blocks, padded sizes and operation counts
  device,  ///< the backends cuda and cuda_nchw, likewise
  whole,   ///< as in the papers: every stage over the whole batch
};
/// Blocking of a backend, by its name; `whole` for backends that are not ours.
Blocking blocking_of(std::string_view backend);

/// Whether its operations and bytes are nominal, as the papers count them. A library does not
/// report its blocks, which decide what stays in the caches, nor the points of its transforms. The
/// direct method has one stage, whose bytes are at least those of the tensors.
bool is_nominal(Method method, Blocking blocking);

/// The method that ran, from Operation::implementation(): of our algorithms, on processors and
/// GPUs, and of oneDNN's. Nothing for unknown words, such as a plan of cuDNN. Nothing either for
/// our transforms on processors with an unknown instruction set, whose operations depend on its
/// vector size.
std::optional<Method> method_of(std::string_view implementation);

/// The words after "kept filters+" name the computation that uses filters transformed by an earlier
/// run; nothing for other implementations. These are unknown to method_of(), since training cannot
/// use them.
std::optional<std::string_view> with_kept_filters(std::string_view implementation);

/// Floats per vector of the instruction set that the implementation names. Among the
/// implementations of method_of(), only our own transforms on processors name one and depend on it.
/// For all others it is 16, which is also the number that a library's transforms process together.
int vector_floats(std::string_view implementation);

/// Maximum number of groups of our convolutions on GPUs: each has its own products, which run one
/// after the other.
inline constexpr std::int64_t most_device_groups = 32;

/// Why a method does not support the shape; empty if it does. For `whole`, as far as our algorithms
/// on processors do not. On GPUs, memory may be another reason.
std::string refusal(Method method, const ConvolutionShape& shape,
                    Blocking blocking = Blocking::ours);

}  // namespace dlscale::convolution
