#pragma once
#include <vector>

#include "app/suite/definition/suite.hpp"
#include "app/suite/definition/suite_text.hpp"
#include "core/config/config_file.hpp"

namespace dlscale::app {

/// The cells of a suite file: each entry of `cells`, once for each combination of its `for` table.
/// A command writes below {cell}, or into {result}, a result file there. {nodes}, {ranks_per_node},
/// {ranks}, {gpus_per_rank} and {threads} are those of the cell's shape. Throws ConfigError as
/// load_suite() does, and for a benchmark that keeps its results nowhere.
std::vector<SuiteCell> read_cells(const ConfigMap& suite, const Values& values);

}  // namespace dlscale::app
