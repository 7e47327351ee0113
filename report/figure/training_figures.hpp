#pragma once
#include <optional>
#include <span>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/figure/figures.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report::figure {

/// "step_stack": where the time of a step goes on every rank, of the "e2e" rows with phases: a bar
/// a rank, its parts compute (t_f + t_b + t_u), exposed communication (t_comm_exposed), input
/// (t_io + t_h2d) and other (t_other). Means over steps, for they add up where medians do not.
/// Nothing without such a row.
std::optional<Figure> step_stack(std::span<const ResultFile> results);

/// "stragglers": rank × step of the rows with several ranks: by how much the own work of a rank
/// (t_iter − t_comm_exposed) is above the median of the ranks in that step; + is slower, so worse.
/// Of the run with most ranks of each network, its first repeat. Nothing without such a row.
std::optional<Figure> straggler_map(std::span<const ResultFile> results);

/// "speedup": images a second against the number of workers, a panel a network: predicted with its
/// 90 % interval, measured in the same setting with its own of 95 %, and the ideal, which is n
/// times the predicted one of a worker. Nothing without a curve of two points.
std::optional<Figure> scaling(std::span<const std::vector<model::Prediction>> curves,
                              const Validation& validation);

/// "phases": the phases of an iteration as stacked bars, predicted above measured, a panel a
/// network and batch. At most 48 runs. Nothing without a run.
std::optional<Figure> phase_bars(const Validation& validation);

}  // namespace dlscale::report::figure
