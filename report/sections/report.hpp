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
#include "report/results/suite_record.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report {

struct HistoryView;

/// Whether any result file is of one of these benchmarks.
bool has_benchmark(std::span<const ResultFile> results,
                   std::initializer_list<std::string_view> benchmarks);

/// Whether results tell something without a training run and a machine: convolutions by algorithms,
/// what a processor can do, or what ranks send each other, in training or measured by itself.
bool tells_of_parts(std::span<const ResultFile> results);

/// Everything the report tells of.
struct ReportInput {
  bool trained = true;  ///< there are training runs; without, the next five members are not read
  Validation validation;
  Limits limits;
  /// Speed-up curves: predictions of one run for ascending numbers of ranks, one for each network.
  std::vector<std::vector<model::Prediction>> curves;
  /// Sentences: what was asked for and is not in the curves, and why.
  std::vector<std::string> left_out;
  model::Machine machine;
  /// Convolutions by their algorithms; none where results compare none.
  std::shared_ptr<const KernelStudy> kernels;
  std::vector<ResultFile> results;  ///< all files, of "e2e" and of what the machine was fitted to
  /// Where results of several folders are told of, each by itself: their medians side by side.
  SideBySide side_by_side = {};
  std::vector<SuiteRecord> suites = {};             ///< of cells, whose results are among these
  std::vector<NoiseFinding> noise = {};             ///< studies of the noise of this machine
  std::shared_ptr<const HistoryView> history = {};  ///< what a history says of these results
};

/// One self-contained HTML file: nothing from the network, which its policy forbids, figures
/// inlined, and one script of its own, by which tables sort and filter; without it everything can
/// be read.
std::string html(const ReportInput& input, const Figures& figures);

/// A page of text and where it belongs.
struct Page {
  std::filesystem::path file;  ///< relative to the folder of the report
  std::string text;
};

/// The same in Markdown, README.md first; figures are links to `Figure::file`. Tables by layer are
/// pages of their own in layers/, and many of messages in messages/, which the first links, each
/// small enough for a code host to show.
std::vector<Page> markdown(const ReportInput& input, const Figures& figures);

/// How the first line of a page in layers/ begins.
inline constexpr std::string_view layer_page_title = "# dlscale: tables by layer of ";
/// That of one in messages/.
inline constexpr std::string_view message_page_title = "# dlscale: messages of ";

}  // namespace dlscale::report
