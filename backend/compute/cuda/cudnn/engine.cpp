#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "backend/compute/cuda/cudnn/graph.hpp"
#include "core/base/error.hpp"

namespace dlscale::backend::cuda {
namespace {

/// More configurations than any heuristic returns.
constexpr std::int64_t most_configurations = 128;
constexpr std::int64_t most_notes = 32;

std::string name_of(cudnnBackendNumericalNote_t note) {
  switch (note) {
    case CUDNN_NUMERICAL_NOTE_TENSOR_CORE:
      return "TENSOR_CORE";
    case CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS:
      return "DOWN_CONVERT_INPUTS";
    case CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION:
      return "REDUCED_PRECISION_REDUCTION";
    case CUDNN_NUMERICAL_NOTE_FFT:
      return "FFT";
    case CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC:
      return "NONDETERMINISTIC";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD:
      return "WINOGRAD";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_4x4:
      return "WINOGRAD_TILE_4x4";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_6x6:
      return "WINOGRAD_TILE_6x6";
    case CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13:
      return "WINOGRAD_TILE_13x13";
    case CUDNN_NUMERICAL_NOTE_STRICT_NAN_PROP:
      return "STRICT_NAN_PROP";
    default:
      return fmt::format("NUMERICAL_NOTE_{}", static_cast<int>(note));
  }
}

std::string name_of(cudnnBackendBehaviorNote_t note) {
  switch (note) {
    case CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION:
      return "RUNTIME_COMPILATION";
    case CUDNN_BEHAVIOR_NOTE_REQUIRES_FILTER_INT8x32_REORDER:
      return "REQUIRES_FILTER_INT8x32_REORDER";
    case CUDNN_BEHAVIOR_NOTE_REQUIRES_BIAS_INT8x32_REORDER:
      return "REQUIRES_BIAS_INT8x32_REORDER";
    case CUDNN_BEHAVIOR_NOTE_SUPPORTS_CUDA_GRAPH_NATIVE_API:
      return "SUPPORTS_CUDA_GRAPH_NATIVE_API";
    case CUDNN_BEHAVIOR_NOTE_CUBLASLT_DEPENDENCY:
      return "CUBLASLT_DEPENDENCY";
    default:
      return fmt::format("BEHAVIOR_NOTE_{}", static_cast<int>(note));
  }
}

/// Recommendations of cuDNN in one mode; nothing where the mode has none for the graph.
std::vector<Descriptor> ask(const Graph& graph, cudnnBackendHeurMode_t mode) {
  Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR, graph.descriptor().what());
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph.descriptor());
  heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, mode);
  if (graph.target().description != nullptr) {
    heuristics.set(CUDNN_ATTR_ENGINEHEUR_DEVICEPROP, *graph.target().description);
  }
  if (heuristics.try_finalize() != CUDNN_STATUS_SUCCESS) return {};
  return heuristics.descriptors(CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR,
                                most_configurations);
}

}  // namespace

bool EngineNotes::has(cudnnBackendNumericalNote_t note) const {
  return std::find(numerical.begin(), numerical.end(), note) != numerical.end();
}

bool EngineNotes::is_deterministic() const {
  return !has(CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
}

bool EngineNotes::is_compiled() const {
  return std::find(behavior.begin(), behavior.end(), CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION) !=
         behavior.end();
}

std::string to_string(const EngineNotes& notes) {
  std::vector<std::string> words;
  for (const auto note : notes.numerical) words.push_back(name_of(note));
  for (const auto note : notes.behavior) words.push_back(name_of(note));
  return fmt::format("eng{} [{}]", notes.index, fmt::join(words, " "));
}

std::optional<Descriptor> engine(const Graph& graph, std::int64_t index) {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR, graph.descriptor().what());
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph.descriptor());
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, index);
  if (graph.target().description != nullptr) {
    engine.set(CUDNN_ATTR_ENGINE_DEVICEPROP, *graph.target().description);
  }
  if (engine.try_finalize() != CUDNN_STATUS_SUCCESS) return std::nullopt;
  return engine;
}

EngineNotes notes_of(const Descriptor& engine) {
  return {engine.get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX),
          engine.list<cudnnBackendNumericalNote_t>(CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, most_notes),
          engine.list<cudnnBackendBehaviorNote_t>(CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE, most_notes)};
}

std::vector<EngineNotes> census(const Graph& graph) {
  std::vector<EngineNotes> supported;
  for (std::int64_t i = 0; i < graph.engine_count(); ++i) {
    if (const auto found = engine(graph, i)) supported.push_back(notes_of(*found));
  }
  return supported;
}

bool keeps_precision(const EngineNotes& notes, DType dtype) {
  if (notes.has(CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)) return false;
  // For f32 tensors cuDNN calls rounding to f16 down-converting, but not rounding to tf32.
  const bool in_f32 = dtype == DType::f32 || dtype == DType::tf32;
  if (in_f32 && notes.has(CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS)) return false;
  return dtype != DType::f32 || !notes.has(CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
}

std::vector<Descriptor> recommended(const Graph& graph) {
  std::vector<Descriptor> all;
  std::set<std::string> seen;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_B, CUDNN_HEUR_MODE_FALLBACK}) {
    for (Descriptor& configuration : ask(graph, mode)) {
      const auto index = engine_of(configuration).get<std::int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
      if (seen.insert(fmt::format("{} {}", index, knobs_of(configuration))).second) {
        all.push_back(std::move(configuration));
      }
    }
  }
  return all;
}

Descriptor engine_of(const Descriptor& configuration) {
  auto engines =
      configuration.descriptors(CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1);
  EXPECT(engines.size() == 1);
  return std::move(engines.front());
}

std::string knobs_of(const Descriptor& configuration) {
  std::vector<std::string> words;
  for (const Descriptor& choice :
       configuration.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    const auto type = choice.get<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
    const auto value = choice.get<std::int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
    words.push_back(fmt::format("k{}={}", static_cast<int>(type), value));
  }
  return fmt::format("{}", fmt::join(words, " "));
}

}  // namespace dlscale::backend::cuda
