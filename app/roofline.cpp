// dlscale roofline: fits models of kernel times to results of bench conv and judges them on others.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/option_values.hpp"
#include "app/cli/verb.hpp"
#include "app/measure/result_files.hpp"
#include "app/report/measured_steps.hpp"
#include "app/roofline/show_device.hpp"
#include "core/cluster/cluster.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/kernels/measured_roofline.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/kernels/kernel_tables.hpp"
#include "report/kernels/roofline_table.hpp"

namespace dlscale::app {
namespace {

struct ModelFit {
  std::vector<std::string> results;
  std::string output;
  bool quiet = false;
};

struct PlaceOptions {
  std::vector<std::string> results;
  int threads = 1;
  std::string cluster;
  ShowDevice device;
  DocumentOutput output;
};

struct ModelValidation {
  std::vector<std::string> results;
  report::RooflineLimits limits;
  DocumentOutput output;
};

std::vector<ResultFile> convolutions_of(const std::vector<std::string>& paths) {
  std::vector<ResultFile> files = results_of(paths, {"conv"});
  if (files.empty()) {
    throw ConfigError(
        "There are no results of bench conv. Measure first: dlscale bench conv --algorithms all "
        "-o conv.jsonl.");
  }
  return files;
}

ExitCode fit_models(const ModelFit& options) {
  if (options.output != "-") {
    refuse_foreign_file(options.output, "a file of kernel models", [](std::istream& content) {
      return opens_with_schema(content, "dlscale.kernels");
    });
  }
  const std::vector<ResultFile> files = convolutions_of(options.results);
  const std::string cpu = report::processor_of(files);
  model::LeftOut left_out;
  const auto samples = model::kernel_samples(files, left_out);
  std::vector<std::string> skipped;
  model::KernelModels models = model::fit_kernels(samples, skipped);
  models.cpu = cpu;
  for (const ResultFile& file : files) models.sources.push_back(file.path.string());
  for (const std::string& way : skipped) {
    fmt::print(stderr, "no model of {}: it was measured at fewer than 3 shapes\n", way);
  }
  if (models.models.empty()) {
    fmt::print(stderr,
               "dlscale: no model could be fitted, so nothing was written. Measure more shapes: "
               "dlscale bench conv --network vgg16,resnet50 --algorithms all -o conv.jsonl.\n");
    return ExitCode::inconclusive;
  }
  write_output(options.output, model::kernel_models_json(models));
  fmt::print(stderr, "{}: {} models from {} times of convolutions\n",
             options.output == "-" ? "kernel models" : options.output, models.models.size(),
             samples.size());
  print_next(steps_of_kernels(options.output, options.results, files),
             options.quiet || options.output == "-");
  return ExitCode::ok;
}

ExitCode validate_models(const ModelValidation& options) {
  const std::vector<ResultFile> files = convolutions_of(options.results);
  report::processor_of(files);
  model::LeftOut left_out;
  const auto samples = model::kernel_samples(files, left_out);
  const model::KernelJudgement judgement =
      model::judge_kernels(samples, report::choice_evidence(files), model::JudgedHalves::both);
  const ExitCode code = report::exit_code(judgement, options.limits);
  report::Document document = report::roofline_document(judgement, left_out, options.limits);
  if (code == ExitCode::ok) document.next = steps_of_convolutions(options.results);
  options.output.write(document);
  return code;
}

std::optional<FlopsPerSecond> data_sheet_peak(const std::string& name) {
  if (name.empty()) return std::nullopt;
  const Cluster cluster = load_cluster(name);
  const auto peak = cluster.device.peak.find(DType::f32);
  if (peak != cluster.device.peak.end()) return peak->second;
  throw ConfigError(fmt::format(
      "the data sheet of {} gives no peak in f32 (cluster {}), so its share is not defined. "
      "Leave --cluster out, or add the peak.",
      cluster.device.name, cluster.name));
}

ConfigError nothing_to_place(int threads, int unbounded) {
  const std::string with = counted(threads, "thread");
  if (unbounded > 0) {
    return ConfigError(fmt::format(
        "all convolutions measured with {} on the processor found their inputs in the caches "
        "(--cache producer), for which no limit is measured. Measure with --cache cold.",
        with));
  }
  return ConfigError(
      fmt::format("no convolution among the results was measured with {} on the processor. Choose "
                  "another number with --threads, or measure.",
                  with));
}

ExitCode show_placed(const PlaceOptions& options) {
  if (options.device.is_given()) {
    options.output.write(options.device.show());
    return ExitCode::ok;
  }
  if (options.results.empty()) throw CLI::RequiredError("results, or --device and --network");
  const auto peak = data_sheet_peak(options.cluster);
  const std::vector<ResultFile> files =
      results_of(options.results, {"conv", "memory", "gemm", "peak"});
  if (!files.empty()) report::processor_of(files);
  model::LeftOut left_out;
  auto samples = model::kernel_samples(files, left_out);
  const auto roofline = model::measured_roofline(files, samples, options.threads);
  std::vector<model::PlacedKernel> placed;
  placed.reserve(samples.size());
  int unbounded = 0;
  for (const model::KernelSample& sample : samples) {
    const model::Way& way = sample.what.way;
    if (way.threads != options.threads || way.on_device()) continue;
    if (model::is_bounded(way.cache)) {
      placed.push_back(model::place(roofline, sample));
    } else {
      ++unbounded;
    }
  }
  if (placed.empty()) throw nothing_to_place(options.threads, unbounded);
  report::Document document = report::placed_kernels_document(roofline, placed, peak, unbounded);
  document.next = steps_of_convolutions(options.results);
  options.output.write(document);
  return ExitCode::ok;
}

void declare_show_placed(CLI::App& verb, ExitCode& result) {
  auto* command = verb.add_subcommand(
      "show",
      "Show measured convolutions below the measured limits of arithmetic and memory, or a network "
      "below those of a data sheet");
  auto options = std::make_shared<PlaceOptions>();
  command
      ->add_option("results", options->results,
                   "Result files or folders of bench conv and bench memory, and of bench peak and "
                   "bench gemm where there are some")
      ->type_name("FILE");
  command
      ->add_option("--threads", options->threads,
                   "Show convolutions measured with this number of threads")
      ->check(positive())
      ->capture_default_str();
  command
      ->add_option(
          "--cluster", options->cluster,
          "Also show shares of the peak of a data sheet: a name in configs/clusters, or a YAML "
          "file")
      ->type_name("CLUSTER");
  options->output.declare(*command);
  options->device.declare(*command);
  command->footer(
      "Example: dlscale roofline show conv.jsonl memory.jsonl peak.jsonl\n"
      "Example: dlscale roofline show --device gtx_980 --network vgg16 --batch 32");
  command->callback([options, &result] { result = show_placed(*options); });
}

void declare_model_fit(CLI::App& verb, ExitCode& result) {
  auto* command = verb.add_subcommand(
      "fit", "Fit models to measured convolutions, for dlscale select-algorithm");
  auto options = std::make_shared<ModelFit>();
  command->add_option("results", options->results, "Result files or folders of bench conv")
      ->type_name("FILE")
      ->required();
  command
      ->add_option("-o,--output", options->output,
                   "File of kernel models to write, or - for standard output")
      ->type_name("FILE")
      ->required();
  declare_quiet(*command, options->quiet);
  command->footer("Example: dlscale roofline fit conv.jsonl -o kernels.json");
  command->callback([options, &result] { result = fit_models(*options); });
}

void declare_model_validation(CLI::App& verb, ExitCode& result) {
  auto* command = verb.add_subcommand(
      "validate", "Fit models to one half of the measured shapes, and judge them on the other");
  auto options = std::make_shared<ModelValidation>();
  command->add_option("results", options->results, "Result files or folders of bench conv")
      ->type_name("FILE")
      ->required();
  const auto limit = [&](const char* name, double& value, const char* doc) {
    command->add_option(name, value, doc)->check(positive())->capture_default_str();
  };
  limit("--limit-median", options->limits.median,
        "Largest median error with which an algorithm passes");
  limit("--limit-p90", options->limits.p90, "Largest 90 % quantile of its errors");
  limit("--limit-choice", options->limits.choice,
        "Largest share of time that choosing by prediction may lose");
  options->output.declare(*command);
  command->footer(
      "Exit code 1: a limit is missed; 3: an algorithm has too few shapes to be judged, or each "
      "shape "
      "has only one.\nExample: dlscale roofline validate conv.jsonl");
  command->callback([options, &result] { result = validate_models(*options); });
}

void declare_roofline(CLI::App& verb, ExitCode& result) {
  verb.require_subcommand(1);
  declare_show_placed(verb, result);
  declare_model_fit(verb, result);
  declare_model_validation(verb, result);
  verb.footer(
      "Example: dlscale roofline show conv.jsonl memory.jsonl peak.jsonl\n"
      "Measure first: dlscale bench conv --network vgg16,resnet50 --algorithms all -o conv.jsonl");
}

}  // namespace

extern const Verb roofline_verb{"roofline", "Model the time of convolutions by their algorithms",
                                declare_roofline};

}  // namespace dlscale::app
