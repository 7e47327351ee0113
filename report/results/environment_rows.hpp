#pragma once
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/results/measurement.hpp"
#include "core/system/environment.hpp"

namespace dlscale::report {

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// The names of result files on a page, as many: with the folder where several files are called the
/// same, as those of cells are.
std::vector<std::string> shown_names(std::span<const ResultFile> files);

/// An environment as (name, text), for tables and comparisons; libraries and variables each get a
/// row. What is empty is left out.
NamedTexts environment_rows(const Environment& environment);

/// The same over all files: different values of a row joined by ", ", dates as first – last. Rows
/// in the order of the first file.
NamedTexts joined_environment(std::span<const ResultFile> files);

/// A property of the environment in which result files differ: each value with the files that have
/// it. Date and load are not among them.
struct EnvironmentDifference {
  std::string property;
  std::map<std::string, std::vector<std::string>> files;  ///< by value; empty: not recorded
};
std::vector<EnvironmentDifference> environment_differences(std::span<const ResultFile> results);

}  // namespace dlscale::report
