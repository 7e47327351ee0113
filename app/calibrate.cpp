// dlscale calibrate: fits a machine description to results of benchmarks.
#include "model/calibrate/calibrate.hpp"
#include "app/cli/option_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/cli/help_text.hpp"
#include "app/cli/verb.hpp"
#include "app/measure/result_files.hpp"
#include "app/options/hardware_options.hpp"
#include "app/predict/calibrate_cases.hpp"
#include "backend/host/host.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "model/calibrate/contention.hpp"
#include "model/calibrate/left_out.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::app {
namespace {

struct CalibrateOptions {
  std::vector<std::string> results;
  std::string cluster = "local";
  std::string output;
  int workers = 2;
  model::CalibrateOptions conditions;
  InterNodeOptions inter_node;
  CalibrateCases cases;
};

void check_replaceable(const std::string& path) {
  refuse_foreign_file(path, "a machine file", [](std::istream& content) {
    return opens_with_schema(content, "dlscale.machine");
  });
}

/// Saves the machine; to standard output if the path is "-".
void save(const std::string& path, const model::Machine& machine) {
  if (path == "-") return write_output(path, model::machine_json(machine));
  model::save_machine(path, machine);
}

/// Prints how much messages and compute slow each other down, one line for each range of sizes.
void print_contention(std::FILE* to, const model::Machine& machine) {
  for (const model::ContentionFit& fit : machine.contention) {
    for (const model::ContentionRange& range : fit.ranges) {
      fmt::print(to, "{}: {}\n", model::to_text(fit), model::to_text(range));
    }
  }
}

/// Removes files of benchmarks that a machine is not fitted to. Returns their counts in words.
std::vector<std::string> take_out_others(std::vector<ResultFile>& files) {
  static constexpr std::array<std::string_view, 5> fitted{"conv", "update", "memory", "io", "comm"};
  static constexpr std::array<std::string_view, 2> judged_on{"e2e", "overhead"};
  std::map<std::string, int> others;
  std::erase_if(files, [&others](const ResultFile& file) {
    const std::string& benchmark = file.header.benchmark;
    if (std::ranges::find(fitted, benchmark) != fitted.end()) return false;
    ++others[benchmark];
    return true;
  });
  std::vector<std::string> left;
  for (const auto& [benchmark, count] : others) {
    const bool judged = std::ranges::find(judged_on, benchmark) != judged_on.end();
    left.push_back(fmt::format(
        "{} of {}, {}", counted(count, "file"), benchmark,
        judged ? "on which predictions are judged" : "of which a machine holds nothing"));
  }
  return left;
}

/// Throws ConfigError for an empty machine, which must not replace a valid one.
void expect_something(const model::Machine& machine, const std::vector<std::string>& left) {
  if (!model::is_empty(machine)) return;
  const std::string why =
      left.empty() ? "" : fmt::format(": left out are {}", fmt::join(left, "; "));
  throw ConfigError(
      fmt::format("none of the results can be used, so there is nothing to fit{}. Measure what "
                  "training does, or choose other conditions (see --help).",
                  why));
}

/// The cluster of the machine. "local" is the node with the GPUs that the results name, or else
/// this machine, whose processor the results are from.
Cluster cluster_of(const CalibrateOptions& options, std::span<const ResultFile> files) {
  if (options.cluster != "local") return load_cluster(options.cluster);
  if (auto gpus = measured_gpus(files, options.conditions.backend, options.workers)) return *gpus;
  return backend::detect_local_cluster(options.workers);
}

ExitCode calibrate(const CalibrateOptions& options) {
  if (options.cases.are_given()) return options.cases.calibrate(options.output);
  if (options.results.empty()) throw CLI::RequiredError("results");
  const bool to_standard_output = options.output == "-";
  if (!to_standard_output) check_replaceable(options.output);
  std::vector<ResultFile> files = all_results(options.results);
  Cluster cluster = cluster_of(options, files);
  options.inter_node.apply(cluster);
  std::vector<std::string> left = take_out_others(files);
  if (files.empty()) {
    throw ConfigError(
        "There are no results of bench conv, update, memory, io or comm to fit. Run those first, "
        "with -o.");
  }
  const model::Machine machine = model::calibrate(cluster, files, options.conditions);
  for (const model::LeftOutRows& rows : model::left_out(files, machine, options.conditions)) {
    left.push_back(model::to_text(rows));
  }
  expect_something(machine, left);
  save(options.output, machine);
  std::FILE* const told = to_standard_output ? stderr : stdout;
  fmt::print(told, "{}: {}, from {}\n", to_standard_output ? "machine" : options.output,
             model::fitted_text(machine), counted(std::ssize(files), "result file"));
  if (!left.empty()) fmt::print(told, "left out: {}\n", fmt::join(left, "; "));
  print_contention(told, machine);
  for (const std::string& note : model::contention_notes(files, options.conditions)) {
    fmt::print(told, "note: {}\n", note);
  }
  return ExitCode::ok;
}

/// Declares the options that choose the conditions to fit if the results have several.
void declare_conditions(CLI::App& verb, model::CalibrateOptions& conditions) {
  verb.add_option("--cache", conditions.cache,
                  "Kernels: what the caches held when they started, as of bench conv --cache")
      ->check(CLI::IsMember({"cold", "producer", "hot", "rotating"}))
      ->capture_default_str();
  verb.add_option("--message-cache", conditions.message_cache,
                  "Messages: the same, as of bench comm --cache")
      ->check(CLI::IsMember({"cold", "hot", "reused"}))
      ->capture_default_str();
  verb.add_option("--source", conditions.source,
                  "Pictures: where they came from, as of bench io --source")
      ->check(CLI::IsMember({"page_cache", "storage"}))
      ->capture_default_str();
  verb.add_option("--backend", conditions.backend,
                  "Compute backend (default: the only one in the results)");
}

void declare_calibrate(CLI::App& verb, ExitCode& result) {
  auto options = std::make_shared<CalibrateOptions>();
  verb.add_option("results", options->results,
                  "Result files or folders of bench conv, update, memory, io, comm, device")
      ->type_name("FILE");
  verb.add_option(
          "--cluster", options->cluster,
          "The hardware measured: local (this processor, or the GPU that the results name), a name "
          "in configs/clusters, or a file")
      ->type_name("CLUSTER")
      ->capture_default_str();
  verb.add_option("--workers", options->workers,
                  "Workers on this machine, or GPUs, with --cluster local")
      ->check(positive_count())
      ->capture_default_str();
  verb.add_option("-o,--output", options->output, "Machine file to write, or - for standard output")
      ->type_name("FILE")
      ->required();
  declare_conditions(verb, options->conditions);
  options->inter_node.declare(verb);
  options->cases.declare(verb);
  group_options(verb, {{"The hardware that was measured", {"--cluster", "--workers"}},
                       {"Conditions to fit, if the results have several",
                        {"--cache", "--message-cache", "--source", "--backend"}},
                       {"Published trainings", {"--cases", "--choose-terms"}},
                       {"Output", {"--output"}},
                       {"Advanced", {"--inter-node-bandwidth", "--inter-node-latency"}}});
  verb.footer(
      "Example: dlscale calibrate results/local/quickstart -o machine.json\nResults of bench e2e "
      "and overhead are left out: predictions are judged on them.\n"
      "Or the model of scaling, fitted to what others published, of at least three sets: dlscale "
      "calibrate --cases cases.jsonl -o scaling.yaml");
  verb.callback([options, &result] { result = calibrate(*options); });
}

}  // namespace

extern const Verb calibrate_verb{"calibrate", "Fit a machine description to measurements",
                                 declare_calibrate};

}  // namespace dlscale::app
