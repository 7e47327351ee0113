#pragma once
#include <filesystem>
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
#include "report/figure/figures.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/results/result_table.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report {

struct HistoryView;

/// Whether any result file is of one of these benchmarks.
bool has_benchmark(std::span<const ResultFile> results,
                   std::initializer_list<std::string_view> benchmarks);

/// Whether results are useful without a training run and a machine: convolutions by algorithms,
/// measurements of a processor, or messages between ranks (in training or separate).
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

/// One self-contained HTML file: figures are inlined, and its policy forbids all network access.
/// Its own script makes tables sortable and filterable; the page is readable without it.
std::string html(const ReportInput& input, const Figures& figures);

/// A page of text and its path.
struct Page {
  std::filesystem::path file;  ///< relative to the folder of the report
  std::string text;
};

/// The same in Markdown, README.md first; figures are links to `Figure::file`. Tables by layer are
/// separate pages in layers/, and large tables of messages in messages/. README.md links them, and
/// each is small enough for a code host to show.
std::vector<Page> markdown(const ReportInput& input, const Figures& figures);

/// Start of the first line of a page in layers/.
inline constexpr std::string_view layer_page_title = "# dlscale: tables by layer of ";
/// Start of the first line of a page in messages/.
inline constexpr std::string_view message_page_title = "# dlscale: messages of ";

}  // namespace dlscale::report
