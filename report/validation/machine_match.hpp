#pragma once
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::report {

/// In what the training runs ("e2e") among the results differ from what the machine was fitted to:
/// processor, host, links between hosts, compute backend, versions of libraries. A sentence a
/// difference, with the files it is true of; one more if the machine does not say what it was
/// fitted to. Of a library that only one side names nothing is said. Nothing about a machine that
/// was not fitted.
std::vector<std::string> machine_differences(const model::Machine& machine,
                                             std::span<const ResultFile> results);

}  // namespace dlscale::report
