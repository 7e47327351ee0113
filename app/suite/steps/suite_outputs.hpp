#pragma once
#include <span>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_progress.hpp"

namespace dlscale::app {

/// Whether all steps are to be done again, whatever that discards.
enum class Fresh { no, yes };

/// To be called before anything is measured. Throws ConfigError where a benchmark of the suite is
/// to write its results in the place of a folder, of a file of another kind, or of one that another
/// dlscale writes; and, unless all is to be done again, where measurements that are there would be
/// discarded: those of another build or of other options, and those after a step that is done
/// again.
void protect_outputs(std::span<const SuiteStep> steps, const SuiteProgress& progress, Fresh fresh);

/// Empties the result files of a benchmark that resumes and is to begin anew: interrupted, it would
/// go on with them. Throws ConfigError as protect_outputs() does for what is there.
void empty_outputs(const SuiteStep& step);

}  // namespace dlscale::app
