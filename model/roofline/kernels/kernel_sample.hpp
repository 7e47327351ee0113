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

/// The pass of a convolution that results call so; nothing for others.
std::optional<Pass> convolution_pass(std::string_view name);

/// What decides which model speaks for a convolution: an algorithm of a backend for one pass, under
/// one condition.
struct Way {
  std::string backend;
  lowering::Method method = lowering::Method::direct;
  Pass pass = Pass::forward;
  int threads = 1;
  std::string cache = "cold";  ///< axis "cache" of bench conv
  auto operator<=>(const Way&) const = default;
  /// "native winograd_f4", as tables name it.
  [[nodiscard]] std::string algorithm() const;
  /// Whether it ran on a GPU, which no ceiling of a processor bounds.
  [[nodiscard]] bool on_device() const;
  /// Whether its work is nominal: lowering::is_nominal().
  [[nodiscard]] bool is_nominal() const;
};

/// Whether that backend computes on a GPU.
bool on_device(std::string_view backend);
/// Whether a row of results is of such a backend.
bool on_device(const Measurement& measurement);

/// A convolution by one way, ready to be timed or predicted.
struct KernelCase {
  Way way;
  std::string kernel;  ///< kernel_key()
  int batch = 1;
  ConvolutionShape shape;
  lowering::AlgorithmWork work;
  int vector_floats = 16;  ///< of what ran: `work` depends on it
};

/// Why that backend does not offer the shape by that method, as far as is known; empty if it does.
/// oneDNN's Winograd: filters of 3 x 3, stride 1, one group, pad of at most 1.
std::string refusal(const Way& way, const ConvolutionShape& shape);

/// Requires a key that parse_convolution_key() reads, and no refusal.
KernelCase make_case(const Way& way, const std::string& kernel, int batch, int vector_floats);

/// One that was measured.
struct KernelSample {
  KernelCase what;
  Seconds time;                     ///< median of the medians of all its measurements
  std::vector<std::string> layers;  ///< "vgg16 conv1_2": where it was met
  /// The median of each of its measurements, in the order of the results. Fewer than 2: it was
  /// measured once.
  std::vector<Seconds> repeats = {};
  /// The largest that its measurements say; none: none says it.
  std::optional<Bytes> workspace = {};
  /// From the least to the greatest end of the 95 % intervals of its measurements.
  Seconds low = time;
  Seconds high = time;
  [[nodiscard]] bool repeated() const { return repeats.size() > 1; }
  /// Median of |m / time - 1| over the repeats m. Requires one.
  [[nodiscard]] double repeat_spread() const;
};

/// What results were left out, and why.
struct LeftOut {
  int other_kernels = 0;     ///< no convolutions, or none whose algorithm is known
  int other_precisions = 0;  ///< not f32
  int other_layouts = 0;     ///< activations in a layout that was asked for, not as in training
  int beside_others = 0;     ///< on a rank beside others
  int other_values = 0;      ///< computed with other numbers than usual: has_normal_values()
};

/// All convolutions among results of bench conv with status ok or unstable, f32, on a rank alone,
/// of normal values, in the layout that training has. The algorithm is what ran, not what was asked
/// for: "chosen" counts with the algorithm that it was. Throws ConfigError that names file and key
/// for what cannot be read, and where nothing is left.
std::vector<KernelSample> kernel_samples(std::span<const ResultFile> results, LeftOut& left_out);

}  // namespace dlscale::model
