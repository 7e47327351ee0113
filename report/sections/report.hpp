#pragma once
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/results/measurement.hpp"
#include "model/machine/machine.hpp"
#include "model/sgd_iter/predict.hpp"
#include "report/comparison/side_by_side.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/page/page.hpp"
#include "report/results/result_table.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report {

struct HistoryView;

/// Whether any result file is of one of these benchmarks.
bool has_benchmark(std::span<const ResultFile> results,
                   std::initializer_list<std::string_view> benchmarks);

/// Whether results are useful without a training run and a machine: convolutions by algorithms,
/// measurements of a processor, matrix products, or messages between ranks (in training or
/// separate).
bool tells_of_parts(std::span<const ResultFile> results);

/// All contents of a report.
struct ReportInput {
  /// Whether there are training runs; if not, the next five members are not read.
  bool trained = true;
  Validation validation;
  Limits limits;
  /// Speed-up curves: predictions of one run for ascending numbers of ranks, one for each network.
  std::vector<std::vector<model::Prediction>> curves;
  /// Sentences on requested curves that are missing, and why.
  std::vector<std::string> left_out;
  model::Machine machine;
  /// Convolutions by their algorithms; null if results compare none.
  std::shared_ptr<const KernelStudy> kernels;
  std::vector<ResultFile> results;  ///< all files: "e2e" and those that the machine was fitted to
  /// Medians side by side, for separate results of several folders.
  SideBySide side_by_side = {};
  std::vector<SuiteRecord> suites = {};  ///< suites of cells, whose results are among these
  std::vector<NoiseFinding> noise = {};  ///< studies of the noise of this machine
  std::shared_ptr<const HistoryView> history = {};  ///< history of these results
};

/// The page of results: with training runs, how well they are predicted; else what was measured.
Page report_page(const ReportInput& input);

}  // namespace dlscale::report
