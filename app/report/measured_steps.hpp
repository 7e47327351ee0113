#pragma once
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

// Further commands of verbs that measure, fit to measurements, or describe a machine. Each runs as
// it is typed.

/// After a benchmark; `file` has its results, and is empty if they were not kept.
std::vector<report::NextStep> steps_of_bench(std::string_view benchmark, const std::string& file);

/// After `unstable` of `all` measurements kept a wide interval: finds what is noisy, and measures
/// again for twice the time. `line` is the command line of the benchmark, and `run` the values that
/// it ran with. Of several ranks, whose launcher it lacks, only the first step.
std::vector<report::NextStep> steps_of_unstable(long long unstable, long long all,
                                                const std::vector<std::string>& line,
                                                const std::map<std::string, std::string>& run);

/// After a suite whose results are in this folder.
std::vector<report::NextStep> steps_of_suite(const std::filesystem::path& out);

/// After a machine, saved in the file `machine`, that was fitted to these files: measures what an
/// iteration needs and the machine lacks, or predicts. `trained` are results with trainings; empty
/// without.
std::vector<report::NextStep> steps_of_machine(const std::string& machine,
                                               const model::Machine& made,
                                               std::span<const ResultFile> files,
                                               const std::vector<std::string>& trained);

/// After models of kernels in the file `kernels` that were fitted to these files, in `results`.
std::vector<report::NextStep> steps_of_kernels(const std::string& kernels,
                                               const std::vector<std::string>& results,
                                               std::span<const ResultFile> files);

/// After convolutions that were placed below a roofline, or whose models passed.
std::vector<report::NextStep> steps_of_convolutions(const std::vector<std::string>& results);

/// After a data set in this folder.
std::vector<report::NextStep> steps_of_data(const std::string& folder);

/// After a check of this machine, on which nothing is missing and so many cores may be used.
std::vector<report::NextStep> steps_of_sound_machine(int cores);

/// After what this build holds, and after a study of this machine's noise.
std::vector<report::NextStep> steps_of_build();
std::vector<report::NextStep> steps_of_noise();

}  // namespace dlscale::app
