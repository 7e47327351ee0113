#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "app/doctor_findings.hpp"

namespace dlscale::app {

/// Whether ranks are started to see if a launcher can.
enum class Hello { tried, left_out };

/// What this build holds: compute backends and communicators, each with the reason why it is absent
/// or cannot be used. Those of GPUs are missing only where there is a GPU.
std::vector<Finding> check_build(const std::filesystem::path& root);

/// What starts ranks: the launcher of this build's MPI, by two ranks that add numbers within a time
/// limit, the places it has for ranks, and who may start it.
std::vector<Finding> check_launching(Hello hello);

/// GPUs and their driver, and other programs that some verbs call. `root` looks like /.
std::vector<Finding> check_tools(const std::filesystem::path& root);

/// GPUs of NVIDIA that are in the machine, with or without a driver: by their PCI vendor and class.
int nvidia_gpus(const std::filesystem::path& root);

/// What of what a failed launch said tells most: its first line that is ours or names an error.
std::string telling_line(const std::string& output);

}  // namespace dlscale::app
