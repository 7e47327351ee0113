#include "app/measure/calibrate_kernels.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <map>

#include "app/cli/option_values.hpp"
#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "model/published/kernels/kernel_table.hpp"
#include "model/published/kernels/product_fit.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "report/format/format.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

using model::published::KernelFit;
using model::published::KernelSamples;
using model::published::KernelScore;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool opens_as_kernels(std::istream& content) {
  std::string line;
  return std::getline(content, line) && line == "schema: dlscale.kernel_times";
}

void show_progress(std::size_t done, std::size_t all) {
  if (isatty(STDERR_FILENO) == 0) return;
  fmt::print(stderr, "\rfits: {} of {}{}", done, all, done == all ? "\n" : "");
}

std::string section_of(const KernelFit& fit) {
  std::string text =
      "kernels:  # fitted to published times of products alone by dlscale calibrate --kernels\n";
  for (const auto& key : model::sheet::fitted_to_kernels()) {
    const auto& constant = fit.fitted.find(key.key)->second;
    text += "  " + model::sheet::fitted_text(key.key, constant) + "\n";
  }
  return text;
}

std::string percent(double share, bool sign = false) {
  if (std::isnan(share)) return "";
  return sign ? fmt::format("{:+.1f}", 100 * share) : fmt::format("{:.1f}", 100 * share);
}

/// A row of scores, with the kind of kernels by "group" where `gpu` is "GPUs alike".
std::vector<report::Cell> row_of(const KernelScore& score, const std::string& dtype) {
  return {{score.kernel},
          {score.gpu},
          {dtype},
          {std::to_string(score.cases)},
          {percent(score.median)},
          {percent(score.mean)},
          {percent(score.bias, true)},
          {percent(score.covered)}};
}

/// The mean of all scores of a kind of kernels.
KernelScore alike(const std::string& kernel, const std::vector<KernelScore>& scores) {
  KernelScore sum;
  sum.kernel = kernel;
  sum.gpu = "GPUs alike";
  double groups = 0;
  for (const KernelScore& score : scores) {
    if (score.kernel != kernel) continue;
    ++groups;
    sum.cases += score.cases;
    sum.median += score.median;
    sum.mean += score.mean;
    sum.bias += score.bias;
    sum.covered += score.covered;
  }
  for (double KernelScore::*one :
       {&KernelScore::median, &KernelScore::mean, &KernelScore::bias, &KernelScore::covered}) {
    sum.*one /= groups;
  }
  return sum;
}

report::Table score_table(const KernelFit& fit) {
  report::Table table;
  table.title = "Error of the time in %, each GPU by the fit without it";
  table.columns = {{"kernel", report::Align::left},
                   {"GPU", report::Align::left},
                   {"precision", report::Align::left},
                   {"cases"},
                   {"median"},
                   {"mean"},
                   {"bias"},
                   {"covered"}};
  for (const std::string& kernel :
       {"product", "convolution forward", "convolution data", "convolution weights"}) {
    bool any = false;
    for (const KernelScore& score : fit.scores) {
      if (score.kernel != kernel) continue;
      any = true;
      table.rows.push_back(row_of(score, std::string(dtype_name(score.dtype))));
    }
    if (any) table.rows.push_back(row_of(alike(kernel, fit.scores), ""));
  }
  table.notes = {"median and mean are of the absolute error; bias is the median error, + too slow",
                 "covered: in the interval of 90 % that the errors of other GPUs make"};
  return table;
}

report::Table constant_table(const KernelFit& fit) {
  report::Table table;
  table.title = "Constants of products alone";
  table.columns = {{"constant", report::Align::left},
                   {"prior"},
                   {"spread of its logarithm"},
                   {"fitted"},
                   {"low"},
                   {"high"}};
  for (const auto& key : model::sheet::fitted_to_kernels()) {
    const auto& one = fit.fitted.find(key.key)->second;
    table.rows.push_back({{std::string(key.key)},
                          {fmt::format("{:.4g}", one.prior)},
                          {fmt::format("{:.2g}", one.spread)},
                          {fmt::format("{:.4g}", one.value)},
                          {fmt::format("{:.4g}", one.low)},
                          {fmt::format("{:.4g}", one.high)}});
  }
  table.notes = {"low, high: 90 %, by leaving out one GPU in turn"};
  return table;
}

void print_tables(std::FILE* to, const KernelFit& fit) {
  report::Document document;
  document.tables = {score_table(fit), constant_table(fit)};
  const auto terminal =
      report::format::detect_terminal(to == stderr ? STDERR_FILENO : STDOUT_FILENO);
  fmt::print(to, "{}", report::format::find_format("table").write(document, terminal));
}

}  // namespace

void CalibrateKernels::declare(CLI::App& verb) {
  CLI::Option* kernels = verb.add_option("--kernels", files_,
                                         "Fit the times of products by data sheets to published "
                                         "ones instead, of DeepBench or NeuSight")
                             ->type_name("FILE");
  exclude_others(verb, *kernels, {"--output"});
}

ExitCode CalibrateKernels::calibrate(const std::string& output) const {
  const bool to_standard_output = output == "-";
  if (!to_standard_output) refuse_foreign_file(output, "a model of kernels", opens_as_kernels);
  const std::filesystem::path usual = find_config("models", "kernels");
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  KernelSamples read;
  for (const std::string& file : files_) {
    model::published::read_kernel_times(file, catalogue, read);
  }
  const KernelFit fit = model::published::fit_kernels(
      read.samples, model::sheet::load_kernel_file(usual), show_progress);
  write_output(output, model::sheet::with_section(text_of(usual), "kernels", section_of(fit)));
  std::FILE* const told = to_standard_output ? stderr : stdout;
  for (const auto& [reason, rows] : read.left_out) {
    fmt::print(told, "left out: {} of {}\n", counted(rows, "row"), reason);
  }
  print_tables(told, fit);
  return ExitCode::ok;
}

}  // namespace dlscale::app
