#pragma once
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/text/progress_line.hpp"
#include "model/fits/fitted_constant.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// Parts of the fits to published times: calibrate --cases, of one GPU and of parallel plans, and
/// --kernels.

/// Throws ConfigError if `output` is a file, and not a model of kernels. "-" is standard output.
void refuse_other_than_kernels(const std::string& output);

/// A callback for the number of fits that are made, of all.
using FitsProgress = std::function<void(std::size_t done, std::size_t all)>;

/// Shows that on standard error, with the time left.
FitsProgress fits_progress(ProgressLine::Kind kind);

/// Headings of the ends of a constant's interval.
struct IntervalWords {
  std::string low = "90 % low";
  std::string high = "high";
};
/// Constants with their priors and intervals. Requires that `fitted` has each key.
report::Table constant_table(
    std::string title, const std::vector<std::string_view>& keys,
    const std::map<std::string, model::FittedConstant, std::less<>>& fitted,
    IntervalWords ends = {});

/// The names of constants, which have a member `key`.
std::vector<std::string_view> names_of(const auto& constants) {
  std::vector<std::string_view> names;
  for (const auto& one : constants) names.push_back(one.key);
  return names;
}

/// Prints tables as text, for a terminal if `to` is one.
void print_tables(std::FILE* to, std::vector<report::Table> tables);

}  // namespace dlscale::app
