#pragma once
#include <cudnn.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backend/compute/cuda/convolution/convolution_problem.hpp"
#include "backend/compute/cuda/cudnn/descriptor.hpp"
#include "core/network/step.hpp"

namespace dlscale::backend::cuda {

/// Device for which a graph is built: an open one, or one that is only described. A description
/// (cuDNN 9.8 and later) needs no GPU, but its plans cannot be executed.
struct Target {
  cudnnHandle_t handle = nullptr;
  std::shared_ptr<const Descriptor> description{};
};

/// A target from the JSON that cuDNN itself writes for a device.
Target described_target(const std::string& json);

/// The type of the elements in memory.
cudnnDataType_t data_type(DType dtype);

/// The tensors of a graph, by the unique ids passed to cuDNN.
enum class TensorId : std::int64_t {
  input = 1,
  weights,
  output,
  bias,
  sum,
  biased,
};

/// Operations fused into a convolution's graph.
enum class Fusion {
  none,
  bias,  ///< forward: adds the bias before it rounds to the output's precision
  relu,  ///< forward: adds the bias, if the layer has one, and applies the ReLU before it rounds
};

/// Precision in which the weight gradient is written: f32 like our parameter gradients, or that of
/// the operation, for kernels that write no other.
enum class GradientPrecision { f32, low };

/// The graph of one pass. In backward passes, output and weights stand for their gradients.
struct GraphForm {
  Pass pass = Pass::forward;
  Fusion fusion = Fusion::none;
  GradientPrecision weight_gradient = GradientPrecision::f32;
};

/// Suffix that distinguishes forms of a pass: " fused-bias", " fused-relu", " low-gradient".
std::string words_of(const GraphForm& form);

/// A finalized operation graph of cuDNN: a convolution with what is fused to it.
class Graph {
 public:
  /// Throws Unsupported or LibraryError.
  Graph(const Target& target, const ConvolutionProblem& problem, const GraphForm& form);

  [[nodiscard]] const Target& target() const { return target_; }
  [[nodiscard]] const Descriptor& descriptor() const { return operation_graph_; }
  [[nodiscard]] const GraphForm& form() const { return form_; }
  /// Number of engines that cuDNN has for graphs of this kind; few support a given one.
  [[nodiscard]] std::int64_t engine_count() const;

 private:
  Target target_;
  GraphForm form_;
  std::vector<Descriptor> parts_;  ///< descriptors that the graph refers to
  Descriptor operation_graph_;
};

/// Description of an engine by cuDNN.
struct EngineNotes {
  std::int64_t index = 0;
  std::vector<cudnnBackendNumericalNote_t> numerical;
  std::vector<cudnnBackendBehaviorNote_t> behavior;
  [[nodiscard]] bool has(cudnnBackendNumericalNote_t note) const;
  /// Whether equal inputs give bit-identical results every time.
  [[nodiscard]] bool is_deterministic() const;
  /// Whether its kernel is compiled when a plan is made.
  [[nodiscard]] bool is_compiled() const;
};

/// "eng45 [TENSOR_CORE RUNTIME_COMPILATION]"
std::string to_string(const EngineNotes& notes);

/// Engine `index` with all its knobs at their defaults; nothing if it does not support the graph.
std::optional<Descriptor> engine(const Graph& graph, std::int64_t index);
EngineNotes notes_of(const Descriptor& engine);

/// All engines that support the graph.
std::vector<EngineNotes> census(const Graph& graph);

/// Whether an engine computes in the precision of `dtype`. Sums are always in f32. f32: products of
/// f32, so no tensor cores. tf32 and below: tensor cores, but operands are not rounded to less than
/// that.
bool keeps_precision(const EngineNotes& notes, DType dtype);

/// Engine configurations recommended by cuDNN's heuristics, best first, without duplicates: those
/// of mode A, then B, then the fallback.
std::vector<Descriptor> recommended(const Graph& graph);

/// The engine of a configuration, and its knobs, "k2=13 k5=0".
Descriptor engine_of(const Descriptor& configuration);
std::string knobs_of(const Descriptor& configuration);

}  // namespace dlscale::backend::cuda
