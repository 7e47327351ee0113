#include "app/measure/calibrate_kernels.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <map>

#include "app/cli/option_values.hpp"
#include "app/measure/fit_output.hpp"
#include "core/cluster/device_file.hpp"
#include "core/config/config_path.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output.hpp"
#include "core/text/numbers.hpp"
#include "model/published/kernels/kernel_table.hpp"
#include "model/published/kernels/product_fit.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

using model::published::KernelFit;
using model::published::KernelSamples;
using model::published::KernelScore;

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
  table.title = "Error of the time in %, each GPU by the fit without its chip";
  table.columns = {{"kernel", report::Align::left},
                   {"GPU", report::Align::left},
                   {"precision", report::Align::left},
                   {"cases"},
                   {"median"},
                   {"mean"},
                   {"bias"},
                   {"covered"}};
  for (const char* const kernel :
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
                 "covered: in the interval of 90 % that the errors of other chips make"};
  return table;
}

report::Table constants_of(const KernelFit& fit) {
  report::Table table = constant_table("Constants of products alone",
                                       names_of(model::sheet::fitted_to_kernels()), fit.fitted);
  table.notes = {"low, high: by leaving out one chip in turn"};
  return table;
}

}  // namespace

void CalibrateKernels::declare(CLI::App& verb) {
  CLI::Option* kernels = verb.add_option("--kernels", files_,
                                         "Fit the times of products by data sheets to published "
                                         "ones instead, of DeepBench or NeuSight")
                             ->type_name("FILE");
  exclude_others(verb, *kernels, {"--output"});
}

ExitCode CalibrateKernels::calibrate(const std::string& output,
                                     const FitsProgress& progress) const {
  const bool to_standard_output = output == "-";
  refuse_other_than_kernels(output);
  const std::filesystem::path usual = find_config("models", "kernels");
  const DeviceCatalogue catalogue = DeviceCatalogue::load();
  KernelSamples read;
  for (const std::string& file : files_) {
    model::published::read_kernel_times(file, catalogue, read);
  }
  const KernelFit fit =
      model::published::fit_kernels(read.samples, model::sheet::load_kernel_file(usual), progress);
  write_output(output, model::sheet::with_section(content_of(usual), "kernels", section_of(fit)));
  std::FILE* const told = to_standard_output ? stderr : stdout;
  for (const auto& [reason, rows] : read.left_out) {
    fmt::print(told, "left out: {} of {}\n", counted(rows, "row"), reason);
  }
  print_tables(told, {score_table(fit), constants_of(fit)});
  return ExitCode::ok;
}

}  // namespace dlscale::app
