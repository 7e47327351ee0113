#pragma once
#include <span>
#include <string>
#include <vector>

#include "app/suite/definition/suite.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {

/// A result without a time because its answer was wrong.
struct WrongRow {
  std::string file;
  std::string key;     ///< Measurement::key()
  std::string reason;  ///< Measurement::reason
};

/// Whether rows of the finished results explain the step's exit code: some are wrong, or nothing
/// could be measured. Throws ConfigError if they cannot be read.
bool told_by_rows(const SuiteStep& step, ExitCode code);

/// All wrong rows in the finished results of these steps, in their order. Throws ConfigError if one
/// cannot be read.
std::vector<WrongRow> wrong_rows(std::span<const SuiteStep> steps);

/// Reports wrong rows on standard error, the first few by name. Returns the exit code of the suite:
/// that of a wrong result, else ok.
ExitCode conclude(std::span<const WrongRow> wrong);

}  // namespace dlscale::app
