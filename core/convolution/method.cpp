#include "core/convolution/method.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/convolution/spectra.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::convolution {
namespace {

/// Implementation of the transforms of a method.
enum class Transforms { ours, fftw, mkl };

/// All facts about a method, from which the functions below derive their results.
struct Traits {
  Method method;
  std::string_view name;
  MethodFamily family;
  int outputs = 0;  ///< for Winograd methods: per tile and dimension
  Schedule schedule = Schedule::staged;
  Transforms transforms = Transforms::ours;
};

using enum MethodFamily;

/// In the order of Method.
constexpr std::array<Traits, 14> table{{
    {Method::direct, "direct", direct},
    {Method::im2col, "im2col", im2col},
    {Method::winograd_f2, "winograd_f2", winograd, 2},
    {Method::winograd_f4, "winograd_f4", winograd, 4},
    {Method::winograd_f6, "winograd_f6", winograd, 6},
    {Method::winograd_f2_fused, "winograd_f2_fused", winograd, 2, Schedule::fused},
    {Method::winograd_f4_fused, "winograd_f4_fused", winograd, 4, Schedule::fused},
    {Method::winograd_f6_fused, "winograd_f6_fused", winograd, 6, Schedule::fused},
    {Method::fft, "fft", fft},
    {Method::fft_tiled, "fft_tiled", fft_tiled},
    {Method::fft_fftw, "fft_fftw", fft, 0, Schedule::staged, Transforms::fftw},
    {Method::fft_tiled_fftw, "fft_tiled_fftw", fft_tiled, 0, Schedule::staged, Transforms::fftw},
    {Method::fft_mkl, "fft_mkl", fft, 0, Schedule::staged, Transforms::mkl},
    {Method::fft_tiled_mkl, "fft_tiled_mkl", fft_tiled, 0, Schedule::staged, Transforms::mkl},
}};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < table.size(); ++i) {
    if (static_cast<std::size_t>(table.at(i).method) != i) return false;
  }
  return static_cast<std::size_t>(last_method) + 1 == table.size();
}
static_assert(is_in_order(), "traits_of() finds a method by its place");

const Traits& traits_of(Method method) {
  const auto place = static_cast<std::size_t>(method);
  EXPECT(place < table.size());
  return table.at(place);
}

constexpr std::array<Method, table.size()> methods = [] {
  std::array<Method, table.size()> all{};
  for (std::size_t i = 0; i < all.size(); ++i) all.at(i) = table.at(i).method;
  return all;
}();

/// Beginning of an implementation's text, without reorders.
struct Beginning {
  std::string words;
  Method method;
  /// Whether it runs our transforms on processors, whose text names the instruction set.
  bool names_set;
};

/// Beginnings of oneDNN's texts, from its source. "x64:gemm:" and on other processors "gemm:" write
/// out patches (src/cpu/gemm_convolution.hpp, named in gemm/gemm.hpp). "brg" and "brdgmm" multiply
/// small blocks in place, and "ip:" is an inner product over whole images (src/cpu/x64), so none of
/// these writes patches. "im2col+gemm", "gemm" and "direct" are also ours.
constexpr std::array<std::pair<std::string_view, Method>, 10> beginnings_without_transforms{{
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

/// Our texts: on processors "winograd F(4x4,3x3) " and, for backward_filter, "winograd F(3x3,4x4)
/// ", followed by "fused " if it is fused, and "fft_tiled "; on GPUs "own winograd_f4 ".
void add_beginnings_of(const Traits& traits, std::vector<Beginning>& all) {
  all.push_back({fmt::format("own {} ", traits.name), traits.method, false});
  if (traits.family == winograd) {
    const std::string_view schedule = traits.schedule == Schedule::fused ? "fused " : "";
    const auto add = [&](int outputs, int taps) {
      all.push_back({fmt::format("winograd F({0}x{0},{1}x{1}) {2}", outputs, taps, schedule),
                     traits.method, true});
    };
    add(traits.outputs, 3);
    add(3, traits.outputs);
  } else if (traits.family == fft || traits.family == fft_tiled) {
    const bool ours = traits.transforms == Transforms::ours;
    all.push_back({fmt::format("{} ", traits.name), traits.method, ours});
  }
}

/// All beginnings; longer ones come first, because they may share their start with shorter ones.
std::vector<Beginning> all_beginnings() {
  std::vector<Beginning> all;
  for (const Traits& traits : table) add_beginnings_of(traits, all);
  for (const auto& [words, method] : beginnings_without_transforms) {
    all.push_back({std::string(words), method, false});
  }
  std::ranges::stable_sort(all, std::ranges::greater(),
                           [](const Beginning& each) { return each.words.size(); });
  return all;
}

/// Floats per vector of an instruction set, by Highway's name (TargetName() in its hwy/targets.h,
/// here in lower case). Several names begin with AVX3. Instruction sets without a fixed vector size
/// are not used (winograd_kernels.cpp).
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
  return traits_of(method).name;
}

MethodFamily family_of(Method method) {
  return traits_of(method).family;
}

Method parse_method(std::string_view name) {
  std::vector<std::string> names;
  names.reserve(methods.size());
  for (const Method method : methods) {
    if (method_name(method) == name) return method;
    names.emplace_back(method_name(method));
  }
  throw ConfigError(fmt::format("\"{}\" is not a way to compute a convolution. {}", name,
                                suggestion(name, names)));
}

int winograd_outputs(Method method) {
  EXPECT(family_of(method) == winograd);
  return traits_of(method).outputs;
}

bool is_fused(Method method) {
  return traits_of(method).schedule == Schedule::fused;
}

Schedule winograd_schedule(Method method) {
  EXPECT(family_of(method) == winograd);
  return traits_of(method).schedule;
}

bool transforms_images(Method method) {
  return family_of(method) == fft;
}

bool transforms_tiles(Method method) {
  return family_of(method) == fft_tiled;
}

bool by_library(Method method) {
  return traits_of(method).transforms != Transforms::ours;
}

std::optional<Method> method_of(std::string_view implementation) {
  const auto drop = [&](std::string_view word) {
    if (!implementation.starts_with(word)) return false;
    implementation.remove_prefix(word.size());
    return true;
  };
  while (drop("relu+") || drop("reorder+")) {
  }
  static const std::vector<Beginning> beginnings = all_beginnings();
  const auto found = std::ranges::find_if(beginnings, [&](const Beginning& beginning) {
    return implementation.starts_with(beginning.words);
  });
  if (found == beginnings.end()) return std::nullopt;
  if (found->names_set && !floats_of_set(implementation)) return std::nullopt;
  return found->method;
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
  if (!shape.is_plain()) return "two strides or pads, or a filter with holes: ours have neither";
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

}  // namespace dlscale::convolution
