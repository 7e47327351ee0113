#pragma once
#include <vector>

#include "model/sgd_iter/iteration.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/table.hpp"

namespace dlscale::report {

/// What tables of predicted iterations have in common, each function adding some columns or the
/// cells of a row for them.

/// "io ms" to "update ms", "iteration ms".
void add_phase_columns(std::vector<Column>& columns);
void add_phase_cells(const model::IterationTime& time, std::vector<Cell>& cells);
/// "images/s", "speed-up", "efficiency", "bound by".
void add_gain_columns(std::vector<Column>& columns);
void add_gain_cells(const model::Prediction& prediction, std::vector<Cell>& cells);

/// The same of records for programs: "t_io_s" to "t_u_s", "t_iter_s".
void add_phase_keys(std::vector<Column>& columns);
void add_phase_values(const model::IterationTime& time, std::vector<Cell>& cells);
/// "images_per_s", "speedup", "efficiency", "bound", "notes".
void add_gain_keys(std::vector<Column>& columns);
void add_gain_values(const model::Prediction& prediction, std::vector<Cell>& cells);

}  // namespace dlscale::report
