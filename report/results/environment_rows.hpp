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

/// Names of result files on a page, one for each file. Files with the same name, as those of cells,
/// get their folder.
std::vector<std::string> shown_names(std::span<const ResultFile> files);

/// An environment as (name, text), for tables and comparisons; each library and variable has its
/// own row. Empty values are left out.
NamedTexts environment_rows(const Environment& environment);

/// The same over all files: joins the different values of a row by ", ", and gives dates as first –
/// last. Rows are in the order of the first file.
NamedTexts joined_environment(std::span<const ResultFile> files);

/// A property of the environment in which result files differ, with the files of each value.
/// Excludes date and load.
struct EnvironmentDifference {
  std::string property;
  /// By value; an empty value was not recorded.
  std::map<std::string, std::vector<std::string>> files;
};
std::vector<EnvironmentDifference> environment_differences(std::span<const ResultFile> results);

}  // namespace dlscale::report
