#pragma once
#include <span>
#include <string_view>

#include "core/parallel/plan.hpp"

namespace dlscale::model::parallel_search {

/// The plans that a framework runs as it is published. docs/explanation/parallel-search.md names
/// versions and sources.
struct FrameworkWays {
  std::string_view name;      ///< as --launch-options has it: "megatron"
  std::string_view title;     ///< as people write it: "Megatron-LM"
  std::string_view software;  ///< its software of today, as --framework has it: "megatron-core"
  std::string_view left_out;  ///< a sentence: plans that it does not run
  bool (*runs)(const parallel::ParallelPlan& plan);
};

/// Megatron-LM, DeepSpeed, torchtitan and nanotron.
std::span<const FrameworkWays> framework_ways();

/// The framework whose plans one runs that free text names, whatever the case of its letters: "NeMo
/// 25.04" runs Megatron's. Families in configs/models/parallel.yaml say which. nullptr where none
/// does.
const FrameworkWays* ways_of(std::string_view framework);

}  // namespace dlscale::model::parallel_search
