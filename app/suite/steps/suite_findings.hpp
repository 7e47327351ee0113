#pragma once
#include <span>
#include <string>
#include <vector>

#include "app/suite/definition/suite.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {

/// A result without a time, since its answer was wrong.
struct WrongRow {
  std::string file;
  std::string key;     ///< Measurement::key()
  std::string reason;  ///< Measurement::reason
};

/// Whether the exit code of a step only says what stands in rows of the results that it has
/// finished: that some are wrong, or that nothing could be measured. Throws ConfigError if they
/// cannot be read.
bool told_by_rows(const SuiteStep& step, ExitCode code);

/// All that is wrong in the finished results of these steps, in their order. Throws ConfigError if
/// one cannot be read.
std::vector<WrongRow> wrong_rows(std::span<const SuiteStep> steps);

/// Says on standard error what is wrong, the first few by name, and what that means for the exit
/// code of a suite: that of a wrong result, else ok.
ExitCode conclude(std::span<const WrongRow> wrong);

}  // namespace dlscale::app
