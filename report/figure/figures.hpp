#pragma once
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/figure/figure.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report {

struct ReportInput;

/// The figures of a report for which the results suffice.
Figures report_figures(const ReportInput& input);

/// The names of all figure files that a report may have.
std::vector<std::string> figure_files();

}  // namespace dlscale::report

namespace dlscale::report::figure {

/// "step_stack": time of a step on every rank, from "e2e" rows with phases, one bar for each rank.
/// Parts: compute (t_f + t_b + t_u), exposed communication (t_comm_exposed), input (t_io + t_h2d)
/// and other (t_other). Means over steps, since they add up and medians do not. Absent without such
/// a row.
std::optional<Figure> step_stack(std::span<const ResultFile> results);

/// "stragglers": rank × step of rows with several ranks. Shows by how much the own work of a rank
/// (t_iter − t_comm_exposed) exceeds the median of the ranks in that step; positive is slower.
/// Takes the first repeat of the run with most ranks of each network. Absent without such a row.
std::optional<Figure> straggler_map(std::span<const ResultFile> results);

/// "speedup": images per second against the number of workers, one panel for each network. Shows
/// the prediction with its 90 % interval, and the measurement in the same setting with its 95 %
/// interval. The ideal is n times the predicted rate of one worker. Absent without a curve of two
/// points.
std::optional<Figure> scaling(std::span<const std::vector<model::Prediction>> curves,
                              const Validation& validation);

/// "phases": the phases of an iteration as stacked bars, predicted above measured, one panel for
/// each network and batch. At most 48 runs. Absent without a run.
std::optional<Figure> phase_bars(const Validation& validation);

/// "allreduce": bus bandwidth (core/results/bandwidths.hpp) of all-reduces as training sends them,
/// against message size; one colour for each number of ranks. Shows measured medians of "comm" rows
/// with 95 % intervals, and the fitted lines if any. Both axes are logarithmic. Absent without two
/// measured sizes or a fit.
std::optional<Figure> bus_bandwidth(std::span<const ResultFile> results,
                                    std::span<const model::CollectiveFit> fits);

/// "message_crossover": the fastest algorithm of each collective by size and ranks, from "comm"
/// rows with the messages of training. Cells are pale where the 95 % interval of another overlaps.
/// Draws at most 4 maps; its table has all. Absent unless several algorithms ran at two sizes or
/// numbers of ranks.
std::optional<Figure> message_crossover(std::span<const ResultFile> results);

/// "crossover": the same of convolutions, by filter and image, a map for each pass. Where several
/// shapes share a cell, an algorithm counts by the geometric mean of its times over all of them.
/// Takes the batch and the other conditions under which most kernels were measured.
std::optional<Figure> convolution_crossover(std::span<const ResultFile> results);

/// "roofline": one panel for each pass, with the measured ceilings of memory and arithmetic. Each
/// convolution and algorithm is a mark: executed operations per second against operations per byte.
/// Both axes are logarithmic. Shows only the most common cache state. Absent without a roofline or
/// a kernel under it.
std::optional<Figure> roofline(const KernelStudy& study);

/// "latency": access latency against the working set, one line for each sweep of `bench latency`,
/// with the cache capacities it found and those the system reports. A second diagram shows the same
/// for the pages in use, if they were swept. Both axes are logarithmic. Absent without a sweep.
std::optional<Figure> latency(std::span<const ResultFile> results);

}  // namespace dlscale::report::figure
