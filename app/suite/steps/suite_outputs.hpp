#pragma once
#include <span>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_progress.hpp"

namespace dlscale::app {

/// Whether all steps are repeated, whatever that discards.
enum class Fresh { no, yes };

/// Checks the outputs; call it before anything is measured. Throws ConfigError if a benchmark would
/// write over a folder, a file of another kind, or a file that another dlscale writes. Unless all
/// steps are repeated, it also throws if existing measurements would be discarded: those of another
/// build or other options, and those after a step that is repeated.
void protect_outputs(std::span<const SuiteStep> steps, const SuiteProgress& progress, Fresh fresh);

/// Empties the result files of a benchmark that can resume but is to start anew; if interrupted, it
/// would resume them. Throws ConfigError as protect_outputs() does for existing files.
void empty_outputs(const SuiteStep& step);

}  // namespace dlscale::app
