#pragma once
#include <string>

#include "app/measure/fit_output.hpp"
#include "core/base/error.hpp"
#include "model/published/cases/case_file.hpp"

namespace dlscale::app {

/// `calibrate --cases` for trainings that give no measured point: fits the constants of kernels to
/// those on one GPU, writes a model of kernels to `output` (a file, or - for standard output), and
/// prints how right fits are that have not seen a set, or an architecture of GPUs. Throws
/// ConfigError as fit_cold() does.
ExitCode calibrate_cold(const cases::CaseFile& file, const std::string& output,
                        const FitsProgress& progress);

}  // namespace dlscale::app
