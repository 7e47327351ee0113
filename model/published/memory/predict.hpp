#pragma once
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "model/memory/rank_memory.hpp"
#include "model/published/memory/memory_case.hpp"

namespace dlscale::model::memory {

/// The answer to a case.
struct MemoryPrediction {
  std::string id;
  MemoryEstimate peak = {};  ///< of the case's scope and counter
  MemoryVerdict verdict = {};
  double state_bytes = 0;  ///< at the update, of the same ranks
};

/// The implementation of the family that free text names in configs/models/parallel.yaml.
Implementation usual_way(std::string_view framework);

/// Predicts a case with the implementation that its framework names, or with `way`. Throws
/// ConfigError as rank_memory() does, with the id of the case.
MemoryPrediction predict(const MemoryCase& of, const std::optional<Implementation>& way = {});
std::vector<MemoryPrediction> predict(std::span<const MemoryCase> cases,
                                      const std::optional<Implementation>& way = {});

/// Lines {"id", "peak_memory_bytes", "low", "high", "fits", "state_memory_bytes"}.
std::string prediction_lines(std::span<const MemoryPrediction> predictions);

}  // namespace dlscale::model::memory
