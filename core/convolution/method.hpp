#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/convolution/tile_blocks.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/network/step.hpp"

namespace dlscale::lowering {

/// What a convolution is computed by.
enum class Method {
  direct,  ///< directly, or as a GEMM whose patches are never written: operations of MODEL 4.1
  im2col,  ///< patches written as a matrix, then GEMM
  winograd_f2,
  winograd_f4,
  winograd_f6,
  winograd_f2_fused,  ///< small blocks of tiles through all stages, each by one thread
  winograd_f4_fused,
  winograd_f6_fused,
  fft,        ///< of whole images
  fft_tiled,  ///< of overlapping tiles
  fft_fftw,   ///< as these two, by the transforms of FFTW or MKL
  fft_tiled_fftw,
  fft_mkl,
  fft_tiled_mkl,
};
inline constexpr Method last_method = Method::fft_tiled_mkl;
std::span<const Method> all_methods();
/// "winograd_f4": as users write it, and as our own algorithms are called.
std::string_view method_name(Method method);
/// Throws ConfigError.
Method parse_method(std::string_view name);

/// What methods have in common: which formulas count their work.
enum class MethodFamily {
  direct,
  im2col,
  winograd,
  fft,        ///< of whole images
  fft_tiled,  ///< of overlapping tiles
};
MethodFamily family_of(Method method);

/// Outputs a tile each way: 2, 4 or 6. Requires a Winograd method.
int winograd_outputs(Method method);
/// Whether it is one of Winograd's whose stages follow one another within a block.
bool is_fused(Method method);
/// How its stages follow one another. Requires a Winograd method.
Schedule winograd_schedule(Method method);

/// Whether it multiplies spectra of whole images; of overlapping tiles.
bool transforms_images(Method method);
bool transforms_tiles(Method method);
/// Whether the transforms are those of a library that was built in, and not our own.
bool by_library(Method method);

/// Whose algorithm it is.
enum class Blocking {
  ours,    ///< the backend native: blocks, padded sizes and operation counts are its own
  device,  ///< the backends cuda and cuda_nchw, likewise
  whole,   ///< as the papers have it: every stage over the whole batch   [MODEL 4]
};
/// By the name of a backend: of those that are not ours, as the papers have it.
Blocking blocking_of(std::string_view backend);

/// Whether its operations and bytes are nominal, as the papers count them: a library does not tell
/// in which blocks it goes through the stages, which decides what stays in the caches, nor by which
/// points it transforms. Directly there is one stage, whose bytes are at least those of the
/// tensors.
bool is_nominal(Method method, Blocking blocking);

/// By which method something ran, told from Operation::implementation(): of ours, on processors and
/// GPUs, and of oneDNN's. Nothing for words that are not known, such as a plan of cuDNN; nor for
/// transforms of ours on processors by an instruction set that is not, whose operations depend on
/// the size of its vectors.
std::optional<Method> method_of(std::string_view implementation);

/// What follows "kept filters+", the words of what computes with filters that an earlier run has
/// transformed; nothing for other implementations. method_of() knows none of these, since they are
/// no way to train.
std::optional<std::string_view> with_kept_filters(std::string_view implementation);

/// Floats of the vectors that ran it, by the instruction set that the implementation names. Of what
/// method_of() knows, only our own transforms on processors name one, and depend on it; of all
/// others 16, which is also what transforms of a library take at once.
int vector_floats(std::string_view implementation);

/// The most groups of our convolutions on GPUs: each has products of its own, one after the other.
inline constexpr std::int64_t most_device_groups = 32;

/// Why a convolution of that kind by that method does not offer the shape; empty if it does. Of
/// `whole`, as far as ours on processors do not. On GPUs memory may be another reason.
std::string refusal(Method method, const ConvolutionShape& shape,
                    Blocking blocking = Blocking::ours);

}  // namespace dlscale::lowering
