#pragma once
#include <cstddef>
#include <cstdio>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "model/roofline/sheet/kernel_constants.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// Parts of both fits of kernels: calibrate --cases without measured points, and --kernels.

/// Throws ConfigError if `output` is a file, and not a model of kernels. "-" is standard output.
void refuse_other_than_kernels(const std::string& output);

/// Shows on standard error, if that is a terminal, that `done` of `all` fits are made.
void show_fits(std::size_t done, std::size_t all);

/// Constants with their priors and intervals. Requires that `fitted` has each key.
report::Table constant_table(
    std::string title, std::span<const model::sheet::ConstantKey> keys,
    const std::map<std::string, model::FittedConstant, std::less<>>& fitted);

/// Prints tables as text, for a terminal if `to` is one.
void print_tables(std::FILE* to, std::vector<report::Table> tables);

}  // namespace dlscale::app
