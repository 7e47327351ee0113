#pragma once
#include <cstddef>
#include <filesystem>
#include <vector>

#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/prediction.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// A file of published measurements (docs/reference/cases.md): trainings or curves, never both.
struct CaseFile {
  std::filesystem::path path = {};
  std::vector<ScalingCase> trainings = {};
  std::vector<CurveCase> curves = {};
  std::vector<Outcome> outcomes = {};  ///< one for each case, in the order of the file

  [[nodiscard]] bool holds_curves() const { return !curves.empty(); }
  [[nodiscard]] std::size_t size() const { return outcomes.size(); }
};

/// Reads a file of the schema dlscale.case/1 or dlscale.allreduce/1, one case a line. Throws
/// ConfigError that names file, line, field and reason. Reasons are:
/// - a line that is not JSON in UTF-8, or is truncated;
/// - an unknown schema or version;
/// - a field that is missing, repeated, misspelt, of the wrong type or out of range, or that
///   contradicts another;
/// - an id that occurs twice, or a file without cases.
///
/// Keys unlike all known ones are ignored.
CaseFile read_cases(const std::filesystem::path& path);

}  // namespace dlscale::cases
