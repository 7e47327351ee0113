#include "core/lowering/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/lowering/spectra.hpp"
#include "core/suggest.hpp"

namespace dlscale::lowering {
namespace {

constexpr std::array methods{
    Method::direct,
    Method::im2col,
    Method::winograd_f2,
    Method::winograd_f4,
    Method::winograd_f6,
    Method::winograd_f2_fused,
    Method::winograd_f4_fused,
    Method::winograd_f6_fused,
    Method::fft,
    Method::fft_tiled,
    Method::fft_fftw,
    Method::fft_tiled_fftw,
    Method::fft_mkl,
    Method::fft_tiled_mkl,
};

/// What an implementation begins with, reorders left out. The longer of two that begin alike stands
/// first.
///
/// Of oneDNN's, in its own source: "x64:gemm:" and on other processors "gemm:" write out patches
/// (src/cpu/gemm_convolution.hpp, named in gemm/gemm.hpp); "brg" and "brdgmm" multiply small blocks
/// where they lie, and "ip:" is an inner product over whole images (src/cpu/x64), so that none of
/// these does.
constexpr std::array<std::pair<std::string_view, Method>, 32> beginnings{{
    {"own winograd_f2 ", Method::winograd_f2},
    {"own winograd_f4 ", Method::winograd_f4},
    {"own fft_tiled ", Method::fft_tiled},
    {"own fft ", Method::fft},
    {"winograd F(2x2,3x3) fused", Method::winograd_f2_fused},
    {"winograd F(3x3,2x2) fused", Method::winograd_f2_fused},
    {"winograd F(4x4,3x3) fused", Method::winograd_f4_fused},
    {"winograd F(3x3,4x4) fused", Method::winograd_f4_fused},
    {"winograd F(6x6,3x3) fused", Method::winograd_f6_fused},
    {"winograd F(3x3,6x6) fused", Method::winograd_f6_fused},
    {"winograd F(2x2,3x3)", Method::winograd_f2},
    {"winograd F(3x3,2x2)", Method::winograd_f2},
    {"winograd F(4x4,3x3)", Method::winograd_f4},
    {"winograd F(3x3,4x4)", Method::winograd_f4},
    {"winograd F(6x6,3x3)", Method::winograd_f6},
    {"winograd F(3x3,6x6)", Method::winograd_f6},
    {"fft_tiled ", Method::fft_tiled},
    {"fft ", Method::fft},
    {"fft_tiled_fftw ", Method::fft_tiled_fftw},
    {"fft_fftw ", Method::fft_fftw},
    {"fft_tiled_mkl ", Method::fft_tiled_mkl},
    {"fft_mkl ", Method::fft_mkl},
    {"im2col+gemm", Method::im2col},
    {"jit_wino_4x3", Method::winograd_f4},
    {"jit_wino_2x3", Method::winograd_f2},
    {"x64:gemm:", Method::im2col},
    {"gemm", Method::im2col},
    {"jit", Method::direct},
    {"brg", Method::direct},
    {"brdgmm", Method::direct},
    {"ip:", Method::direct},
    {"direct", Method::direct},
}};

/// Floats of the vectors of an instruction set, which Highway calls so (TargetName() in its
/// hwy/targets.h, here in lower case). Those of AVX3 go by several names that begin so. Sets whose
/// vectors have no fixed size are not used (winograd_kernels.cpp).
constexpr std::array<std::pair<std::string_view, int>, 12> sets{{{" avx3", 16},
                                                                 {" avx2", 8},
                                                                 {" sse", 4},
                                                                 {" ssse3", 4},
                                                                 {" neon", 4},
                                                                 {" ppc", 4},
                                                                 {" z14", 4},
                                                                 {" z15", 4},
                                                                 {" wasm_emu256", 8},
                                                                 {" wasm", 4},
                                                                 {" emu128", 4},
                                                                 {" scalar", 1}}};

std::optional<int> floats_of_set(std::string_view implementation) {
  const auto found = std::find_if(sets.begin(), sets.end(), [&](const auto& set) {
    return implementation.find(set.first) != std::string_view::npos;
  });
  if (found == sets.end()) return std::nullopt;
  return found->second;
}

/// Whether transforms of our own run, whose words name the set.
bool names_set(std::string_view beginning) {
  return beginning.starts_with("winograd ") || beginning == "fft " || beginning == "fft_tiled ";
}

std::string whole_refusal(const ConvolutionShape& shape) {
  const std::int64_t L = points_for_whole(shape);
  if (L <= max_transform_points) return "";
  return fmt::format("images need {} points each way, of which there are at most {}", L,
                     max_transform_points);
}

}  // namespace

std::span<const Method> all_methods() {
  return methods;
}

std::string_view method_name(Method method) {
  switch (method) {
    case Method::direct:
      return "direct";
    case Method::im2col:
      return "im2col";
    case Method::winograd_f2:
      return "winograd_f2";
    case Method::winograd_f4:
      return "winograd_f4";
    case Method::winograd_f6:
      return "winograd_f6";
    case Method::winograd_f2_fused:
      return "winograd_f2_fused";
    case Method::winograd_f4_fused:
      return "winograd_f4_fused";
    case Method::winograd_f6_fused:
      return "winograd_f6_fused";
    case Method::fft:
      return "fft";
    case Method::fft_tiled:
      return "fft_tiled";
    case Method::fft_fftw:
      return "fft_fftw";
    case Method::fft_tiled_fftw:
      return "fft_tiled_fftw";
    case Method::fft_mkl:
      return "fft_mkl";
    case Method::fft_tiled_mkl:
      return "fft_tiled_mkl";
  }
  fail_expectation("a known Method");
}

Method parse_method(std::string_view name) {
  std::vector<std::string> names;
  names.reserve(methods.size());
  for (const Method method : methods) {
    if (method_name(method) == name) return method;
    names.emplace_back(method_name(method));
  }
  throw ConfigError(
      fmt::format("\"{}\" is no way to compute a convolution. {}", name, suggestion(name, names)));
}

int winograd_outputs(Method method) {
  switch (method) {
    case Method::winograd_f2:
    case Method::winograd_f2_fused:
      return 2;
    case Method::winograd_f4:
    case Method::winograd_f4_fused:
      return 4;
    case Method::winograd_f6:
    case Method::winograd_f6_fused:
      return 6;
    default:
      fail_expectation("a Winograd method");
  }
}

bool is_fused(Method method) {
  return method == Method::winograd_f2_fused || method == Method::winograd_f4_fused ||
         method == Method::winograd_f6_fused;
}

Schedule winograd_schedule(Method method) {
  EXPECT(winograd_outputs(method) > 0);
  return is_fused(method) ? Schedule::fused : Schedule::staged;
}

bool transforms_images(Method method) {
  return method == Method::fft || method == Method::fft_fftw || method == Method::fft_mkl;
}

bool transforms_tiles(Method method) {
  return method == Method::fft_tiled || method == Method::fft_tiled_fftw ||
         method == Method::fft_tiled_mkl;
}

bool by_library(Method method) {
  return (transforms_images(method) && method != Method::fft) ||
         (transforms_tiles(method) && method != Method::fft_tiled);
}

std::optional<Method> method_of(std::string_view implementation) {
  const auto drop = [&](std::string_view word) {
    if (!implementation.starts_with(word)) return false;
    implementation.remove_prefix(word.size());
    return true;
  };
  while (drop("relu+") || drop("reorder+")) {
  }
  const auto found = std::find_if(beginnings.begin(), beginnings.end(), [&](const auto& entry) {
    return implementation.starts_with(entry.first);
  });
  if (found == beginnings.end()) return std::nullopt;
  if (names_set(found->first) && !floats_of_set(implementation)) return std::nullopt;
  return found->second;
}

std::optional<std::string_view> with_kept_filters(std::string_view implementation) {
  constexpr std::string_view words = "kept filters+";
  if (!implementation.starts_with(words)) return std::nullopt;
  return implementation.substr(words.size());
}

int vector_floats(std::string_view implementation) {
  constexpr int widest = 16;
  return floats_of_set(implementation).value_or(widest);
}

Blocking blocking_of(std::string_view backend) {
  if (backend == "native") return Blocking::ours;
  return backend == "cuda" || backend == "cuda_nchw" ? Blocking::device : Blocking::whole;
}

bool is_nominal(Method method, Blocking blocking) {
  return blocking == Blocking::whole && method != Method::direct;
}

std::string refusal(Method method, const ConvolutionShape& shape, Blocking blocking) {
  const bool device = blocking == Blocking::device;
  if (method == Method::direct) return "our own convolutions are none of them direct";
  if (method == Method::im2col) return device ? "none of ours on GPUs writes out patches" : "";
  if (shape.stride != 1) return fmt::format("stride {}: it needs 1", shape.stride);
  if (device && shape.groups > most_device_groups) {
    return fmt::format("{} groups: it offers up to {}", shape.groups, most_device_groups);
  }
  if (device && by_library(method)) return "its transforms are those of a library for processors";
  const std::int64_t kernel = std::max(shape.kernel_h, shape.kernel_w);
  if (transforms_images(method)) return whole_refusal(shape);
  if (transforms_tiles(method)) {
    constexpr std::int64_t largest = tile_points.back();
    return kernel <= largest
               ? ""
               : fmt::format("a filter of {}: its tiles have {} points", kernel, largest);
  }
  if (shape.kernel_h != 3 || shape.kernel_w != 3) {
    return fmt::format("a filter of {} x {}: it is for 3 x 3", shape.kernel_h, shape.kernel_w);
  }
  if (device) return method == Method::winograd_f6 ? "tiles of 6 x 6: GPUs have 2 and 4" : "";
  return shape.pad <= 2 ? "" : fmt::format("pad {}: it offers 0 to 2", shape.pad);
}

}  // namespace dlscale::lowering
