#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::report {

/// Differences between the training runs ("e2e") among the results and the data that the machine
/// was fitted to. Compares processor, host, links between hosts, compute backend and library
/// versions. One sentence for each difference, with its files; one more if the machine does not
/// record its fit. Ignores libraries that only one side names. Empty for a machine that was not
/// fitted.
std::vector<std::string> machine_differences(const model::Machine& machine,
                                             std::span<const ResultFile> results);

}  // namespace dlscale::report
