#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "model/published/cases/prediction.hpp"

namespace dlscale::cases {

/// Reads predictions, one a line (docs/reference/cases.md). A line without a value is a case that
/// was not covered. Throws ConfigError that names file, line, field and reason, as read_cases()
/// does, also for an id that occurs twice.
std::vector<CasePrediction> read_predictions(const std::filesystem::path& path);

/// The lines of such a file. Requires finite numbers.
std::string prediction_lines(std::span<const CasePrediction> predictions);

}  // namespace dlscale::cases
