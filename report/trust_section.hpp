#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/measurement.hpp"
#include "report/sections.hpp"

namespace dlscale::report {

/// A property of the environment in which result files differ: each value with the files that have
/// it. When and under which load a file was made is no such property.
struct EnvironmentDifference {
  std::string property;
  std::map<std::string, std::vector<std::string>> files;  ///< by value; empty: not recorded
};
std::vector<EnvironmentDifference> environment_differences(std::span<const ResultFile> results);

/// Facts that could not be read: name → the reasons that were given.
std::map<std::string, std::vector<std::string>> unread_facts(std::span<const ResultFile> results);

/// What to know before the numbers are believed, a row each, and its details folded.
Section trust_section(const ReportInput& input);

}  // namespace dlscale::report
