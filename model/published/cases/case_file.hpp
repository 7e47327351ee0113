#pragma once
#include <cstddef>
#include <filesystem>
#include <vector>

#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/outcome.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// A file of published measurements (docs/CASES.md): of trainings or of curves, never both.
struct CaseFile {
  std::filesystem::path path = {};
  std::vector<ScalingCase> trainings = {};
  std::vector<CurveCase> curves = {};
  std::vector<Outcome> outcomes = {};  ///< one for each case, in the order of the file

  [[nodiscard]] bool holds_curves() const { return !curves.empty(); }
  [[nodiscard]] std::size_t size() const { return outcomes.size(); }
};

/// Reads a file of the schema dlscale.case/1 or dlscale.allreduce/1, one case a line. Throws
/// ConfigError that names file, line, field and why: what is no JSON in UTF-8 or is cut short,
/// a schema or version that is not known, a field that is missing, there twice, of the wrong type,
/// out of range, misspelt or in contradiction to another, an id that stands twice, a file without
/// cases. Keys that are unlike all known ones are passed over.
CaseFile read_cases(const std::filesystem::path& path);

}  // namespace dlscale::cases
