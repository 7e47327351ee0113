#pragma once
#include <span>
#include <string>

#include "app/measure/fit_output.hpp"
#include "core/base/error.hpp"
#include "model/published/cases/case_file.hpp"

namespace dlscale::app {

/// `calibrate --cases` for trainings beyond data parallelism: fits the constants of parallel times
/// to those of quality A of all files, writes a model of parallel times to `output` (a file, or -
/// for standard output), and prints how right fits are that have not seen the set, or the network,
/// beside priors alone, a measured point of the user's own, and naive predictors. Throws
/// ConfigError as fit_parallel() does, and for an id that two files have.
ExitCode calibrate_parallel(std::span<const cases::CaseFile> files, const std::string& output,
                            const FitsProgress& progress);

}  // namespace dlscale::app
