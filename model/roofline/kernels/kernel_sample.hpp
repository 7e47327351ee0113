#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "core/convolution/work.hpp"
#include "core/results/measurement.hpp"

namespace dlscale::model {

/// The pass of a convolution with that name in results; empty for other names.
std::optional<Pass> convolution_pass(std::string_view name);

/// The key of a model: an algorithm of a backend for one pass, under one condition.
struct Way {
  std::string backend;
  convolution::Method method = convolution::Method::direct;
  Pass pass = Pass::forward;
  int threads = 1;
  std::string cache = "cold";  ///< axis "cache" of bench conv
  auto operator<=>(const Way&) const = default;
  /// Algorithm as tables name it, for example "native winograd_f4".
  [[nodiscard]] std::string algorithm() const;
  /// Whether it ran on a GPU. No ceiling of a processor bounds such a way.
  [[nodiscard]] bool on_device() const;
  /// Whether its work is nominal: convolution::is_nominal().
  [[nodiscard]] bool is_nominal() const;
};

/// Whether that backend computes on a GPU.
bool on_device(std::string_view backend);
/// Whether the backend of a row of results computes on a GPU.
bool on_device(const Measurement& measurement);

/// A convolution by one way, ready to be timed or predicted.
struct KernelCase {
  Way way;
  std::string kernel;  ///< kernel_key()
  int batch = 1;
  ConvolutionShape shape;
  convolution::AlgorithmWork work;
  int vector_floats = 16;  ///< vector width of its processor or GPU, on which `work` depends
};

/// The reason why that backend does not offer the shape by that method, as far as is known; empty
/// if it does. oneDNN's Winograd takes filters of 3 x 3, stride 1, one group, pad at most 1.
std::string refusal(const Way& way, const ConvolutionShape& shape);

/// Requires a key that parse_convolution_key() reads, and no refusal.
KernelCase make_case(const Way& way, const std::string& kernel, int batch, int vector_floats);

/// A measured case.
struct KernelSample {
  KernelCase what;
  Seconds time;                     ///< median of the medians of all its measurements
  std::vector<std::string> layers;  ///< layers with this shape: "vgg16 conv1_2"
  /// The median of each of its measurements, in the order of the results. Fewer than 2 values mean
  /// that it was measured once.
  std::vector<Seconds> repeats = {};
  /// The largest workspace among its measurements; empty if none states one.
  std::optional<Bytes> workspace = {};
  /// The least and the greatest end of the 95 % intervals of its measurements.
  Seconds low = time;
  Seconds high = time;
  [[nodiscard]] bool repeated() const { return repeats.size() > 1; }
  /// Median of |m / time - 1| over the repeats m. Requires at least one repeat.
  [[nodiscard]] double repeat_spread() const;
};

/// Numbers of results left out, by reason.
struct LeftOut {
  int other_kernels = 0;     ///< not a convolution, or one whose algorithm is not known
  int other_precisions = 0;  ///< not f32
  int other_layouts = 0;     ///< activations in a requested layout other than that of training
  int beside_others = 0;     ///< measured on a rank beside others
  int other_values = 0;      ///< computed with unusual values: not has_normal_values()
};

/// All convolutions among results of bench conv with status ok or unstable, f32, on a rank alone,
/// of normal values, in the layout of training. The algorithm is the one that ran, not the one that
/// was requested: "chosen" counts as the algorithm that it chose. Throws ConfigError that names
/// file and key of what cannot be read, and if no sample is left.
std::vector<KernelSample> kernel_samples(std::span<const ResultFile> results, LeftOut& left_out);

}  // namespace dlscale::model
