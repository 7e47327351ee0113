// dlscale calibrate: fits a machine description to results of benchmarks.
#include "model/calibrate/calibrate.hpp"
#include "app/cli/option_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <iterator>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/help_text.hpp"
#include "app/cli/verb.hpp"
#include "app/measure/calibrate_cold.hpp"
#include "app/measure/calibrate_kernels.hpp"
#include "app/measure/calibrate_parallel.hpp"
#include "app/measure/fit_output.hpp"
#include "app/measure/message_logs.hpp"
#include "app/measure/result_files.hpp"
#include "app/options/hardware_options.hpp"
#include "app/report/measured_steps.hpp"
#include "backend/host/host.hpp"
#include "core/base/error.hpp"
#include "core/system/build_info.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "core/text/progress_line.hpp"
#include "model/calibrate/contention.hpp"
#include "model/calibrate/left_out.hpp"
#include "model/machine/machine.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/parallel/training.hpp"
#include "model/published/scaling/fit/fitted_file.hpp"
#include "model/published/scaling/fit/leave_out.hpp"
#include "report/format/format.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {
namespace {

/// Options of `calibrate --cases`: fits the scaling model to published measurements of trainings,
/// or, if they give no measured point, the model of parallel times or that of kernels.
class CalibrateCases {
 public:
  /// Adds the options to the verb, which already has all others. Those exclude --cases, except -o.
  void declare(CLI::App& verb);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Fits the model, writes it to `output` (a file, or - for standard output) and prints its
  /// parameters.
  [[nodiscard]] ExitCode calibrate(const std::string& output, const FitsProgress& progress) const;

 private:
  [[nodiscard]] ExitCode calibrate_scaling(const cases::CaseFile& file, const std::string& output,
                                           const FitsProgress& progress) const;
  /// Throws ConfigError for options that only the model of scaling has, or one file.
  void expect_plain(const std::string& model) const;

  std::vector<std::string> cases_;
  bool choose_terms_ = false;
};

namespace scaling = model::scaling;

cases::CaseFile read_trainings(const std::string& path) {
  cases::CaseFile file = cases::read_cases(path);
  if (file.holds_curves()) {
    throw ConfigError(
        fmt::format("{} holds curves of collectives, to which no model here is fitted. Name a file "
                    "of trainings.",
                    path));
  }
  return file;
}

/// Whether all trainings are without a given point. Throws ConfigError for a file with both kinds.
bool gives_nothing(const cases::CaseFile& file) {
  const auto cold = std::ranges::count_if(
      file.trainings, [](const cases::ScalingCase& one) { return one.given.empty(); });
  const auto all = std::ssize(file.trainings);
  if (cold == 0 || cold == all) return cold == all;
  throw ConfigError(fmt::format(
      "{} holds {} with a measured point and {} without: the first are fitted to the model of "
      "scaling, the others to that of kernels. Put each kind into a file of its own.",
      file.path.string(), counted(all - cold, "training"), cold));
}

/// Whether all trainings go beyond data parallelism.
bool are_parallel(const std::vector<cases::CaseFile>& files) {
  return std::ranges::all_of(files, [](const cases::CaseFile& file) {
    return std::ranges::all_of(file.trainings, model::parallel_time::goes_beyond_data_parallelism);
  });
}

/// Minimum and maximum of a parameter over the fits that each leave out one set.
std::pair<double, double> range_of(const scaling::FittedScaling& fitted, std::size_t parameter) {
  const auto value = [&](const auto& each) { return each.second.parameters.values[parameter]; };
  const auto [least, most] = std::ranges::minmax_element(fitted.without, {}, value);
  return {value(*least), value(*most)};
}

/// "0.0200 base + 0.1500 overhead + …"
std::string parts_text(const scaling::ErrorParts& parts) {
  std::vector<std::string> each;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    each.push_back(fmt::format("{:.4f} {}", parts[i], scaling::error_parts()[i]));
  }
  return fmt::format("{}", fmt::join(each, " + "));
}

report::Table parameter_table(const scaling::FittedScaling& fitted) {
  constexpr int digits = 4;
  report::Table table;
  table.title = "Parameters of the model of scaling";
  table.columns = {{"parameter", report::Align::left},
                   {"unit", report::Align::left},
                   {"prior"},
                   {"spread of its logarithm"},
                   {"fitted"},
                   {"least without a set"},
                   {"most"},
                   {"what it is", report::Align::left}};
  for (std::size_t i = 0; i < scaling::parameter_count; ++i) {
    const scaling::ParameterKind& kind = scaling::parameter_kinds()[i];
    const auto [least, most] = range_of(fitted, i);
    table.rows.push_back({{std::string(kind.name)},
                          {std::string(kind.unit)},
                          {fmt::format("{:.{}g}", kind.median, digits)},
                          {fmt::format("{:.2g}", kind.spread)},
                          {fmt::format("{:.{}g}", fitted.all.parameters.values[i], digits)},
                          {fmt::format("{:.{}g}", least, digits)},
                          {fmt::format("{:.{}g}", most, digits)},
                          {std::string(kind.doc)}});
  }
  const scaling::ErrorModel& errors = fitted.all.errors;
  table.notes = {
      "least, most: of the fits that have not seen one set each",
      fmt::format("times are taken to be exp({:.4f} d (1 - o)) as long, o the share of overheads, "
                  "d how far from the given point, 1 from a doubling on",
                  errors.shift),
      fmt::format("the logarithm of measured over predicted lies within {:.2f} s to {:+.2f} s for "
                  "90 %; s is a sum on each side of it (docs/explanation/scaling-intervals.md)",
                  errors.low, errors.high),
      "s below: " + parts_text(errors.early), "s above: " + parts_text(errors.late)};
  return table;
}

/// Number of fits that include each term.
report::Table terms_table(const scaling::FittedScaling& fitted) {
  report::Table table;
  table.title = "Terms chosen";
  table.columns = {{"term of", report::Align::left},
                   {"by all sets"},
                   {"without one set"},
                   {"sets without which it is not", report::Align::left}};
  for (std::size_t i = 0; i < scaling::parameter_count; ++i) {
    const scaling::ParameterKind& kind = scaling::parameter_kinds()[i];
    const auto is_in = [&](const scaling::Fit& fit) {
      return fit.parameters.values[i] != kind.absent;
    };
    std::size_t count = 0;
    std::vector<std::string> lacking;
    for (const auto& [set, fit] : fitted.without) {
      if (is_in(fit)) {
        ++count;
      } else {
        lacking.push_back(set);
      }
    }
    table.rows.push_back(
        {{std::string(kind.name)},
         {is_in(fitted.all) ? "yes" : "no"},
         {fmt::format("{} of {}", count, fitted.without.size())},
         {count == 0 || lacking.empty() ? "" : fmt::format("{}", fmt::join(lacking, ", "))}});
  }
  return table;
}

void print_table(std::FILE* to, report::Table table) {
  report::Document document;
  document.tables.push_back(std::move(table));
  const auto terminal =
      report::format::detect_terminal(to == stderr ? STDERR_FILENO : STDOUT_FILENO);
  fmt::print(to, "{}", report::format::find_format("table").write(document, terminal));
}

/// The commit of the build that fitted the model.
std::string build_text() {
  const BuildInfo build = build_info();
  return build.dirty ? build.commit + " with changes" : build.commit;
}

void print_fitted_counts(std::FILE* to, const scaling::ScalingFit& made, const std::string& where) {
  std::size_t fitted = 0;
  for (const auto& [set, trainings] : made.sets) fitted += trainings;
  fmt::print(to, "{}: fitted to {} of {}\n", where,
             counted(static_cast<long long>(fitted), "training"),
             counted(static_cast<long long>(made.sets.size()), "set"));
  if (made.not_measured + made.not_covered == 0) return;
  fmt::print(to, "passed over: {} without a measured value, {} not covered by the model\n",
             made.not_measured, made.not_covered);
}

void CalibrateCases::declare(CLI::App& verb) {
  CLI::Option* cases =
      verb.add_option(
              "--cases", cases_,
              "Fit the model of scaling to the published trainings of a file instead; if they "
              "give no measured point, that of kernels; if they go beyond data parallelism, that "
              "of parallel times, to all files (docs/reference/cases.md)")
          ->type_name("FILE");
  verb.add_flag("--choose-terms", choose_terms_,
                "Choose the terms of the model anew for each fit of --cases")
      ->needs(cases);
  exclude_others(verb, *cases, {"--output", "--choose-terms"});
}

void CalibrateCases::expect_plain(const std::string& model) const {
  if (!choose_terms_) return;
  throw ConfigError(fmt::format(
      "--choose-terms is about the model of scaling, and {} holds trainings for that of {}. Leave "
      "it out.",
      cases_.front(), model));
}

ExitCode CalibrateCases::calibrate(const std::string& output, const FitsProgress& progress) const {
  std::vector<cases::CaseFile> files;
  for (const std::string& path : cases_) files.push_back(read_trainings(path));
  if (are_parallel(files)) {
    expect_plain("parallel times");
    return calibrate_parallel(files, output, progress);
  }
  if (files.size() > 1) {
    throw ConfigError(
        "Several files are fitted together only if their trainings go beyond data parallelism. "
        "Put the trainings into one file.");
  }
  if (gives_nothing(files.front())) {
    expect_plain("kernels");
    return calibrate_cold(files.front(), output, progress);
  }
  return calibrate_scaling(files.front(), output, progress);
}

ExitCode CalibrateCases::calibrate_scaling(const cases::CaseFile& file, const std::string& output,
                                           const FitsProgress& progress) const {
  const bool to_standard_output = output == "-";
  if (!to_standard_output) {
    refuse_foreign_file(output, "a model of scaling", scaling::opens_as_scaling);
  }
  scaling::FitOptions options;
  options.choose_terms = choose_terms_;
  if (!choose_terms_) options.progress = progress;
  const scaling::ScalingFit made =
      scaling::fit_scaling(file.trainings, file.outcomes, scaling::FactSources::load(), options);
  std::FILE* const told = to_standard_output ? stderr : stdout;
  write_output(output, scaling::scaling_text(
                           {made.fitted, file.path.filename().string(), build_text(), made.sets}));
  print_fitted_counts(told, made, to_standard_output ? "model" : output);
  if (choose_terms_) print_table(told, terms_table(made.fitted));
  print_table(told, parameter_table(made.fitted));
  return ExitCode::ok;
}

struct CalibrateOptions {
  std::vector<std::string> results;
  std::string cluster = "local";
  std::string output;
  int workers = 2;
  bool quiet = false;
  model::CalibrateOptions conditions;
  InterNodeOptions inter_node;
  LogRanks log_ranks;
  CalibrateCases cases;
  CalibrateKernels kernels;
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

/// Takes the logs of nccl-tests and of OSU's benchmarks out of the names of results.
std::vector<std::string> take_logs(std::vector<std::string>& results) {
  const auto logs = std::ranges::stable_partition(results, std::not_fn(is_message_log));
  std::vector<std::string> taken(logs.begin(), logs.end());
  results.erase(logs.begin(), logs.end());
  return taken;
}

/// Adds the messages of logs. What was left out of them goes to `left`, all else to `notes`.
void add_logs(const std::vector<std::string>& logs, LogRanks ranks, const Cluster& cluster,
              std::vector<ResultFile>& files, std::vector<std::string>& left,
              std::vector<std::string>& notes) {
  constexpr std::string_view left_out = "left out: ";
  for (const std::string& path : logs) {
    MessageLog log = read_messages(path, ranks, cluster.devices_per_node);
    for (const std::string& note : log.notes) {
      const bool is_left_out = note.starts_with(left_out);
      (is_left_out ? left : notes)
          .push_back(path + ": " + (is_left_out ? note.substr(left_out.size()) : note));
    }
    files.push_back(std::move(log.rows));
  }
  ranks.expect_used();
}

ExitCode calibrate(const CalibrateOptions& options) {
  const FitsProgress progress = fits_progress(ProgressLine::kind_for(options.quiet));
  if (options.kernels.are_given()) return options.kernels.calibrate(options.output, progress);
  if (options.cases.are_given()) return options.cases.calibrate(options.output, progress);
  if (options.results.empty()) throw CLI::RequiredError("results");
  const bool to_standard_output = options.output == "-";
  if (!to_standard_output) check_replaceable(options.output);
  std::vector<std::string> results = options.results;
  const std::vector<std::string> logs = take_logs(results);
  std::vector<ResultFile> files = all_results(results);
  const bool has_trainings = std::ranges::any_of(
      files, [](const ResultFile& file) { return file.header.benchmark == "e2e"; });
  const bool logs_alone = files.empty() && !logs.empty();
  if (logs_alone && options.cluster == "local") {
    throw ConfigError(fmt::format(
        "{} does not describe the hardware that it was measured on. Name it by --cluster.",
        logs.front()));
  }
  Cluster cluster = cluster_of(options, files);
  options.inter_node.apply(cluster);
  std::vector<std::string> left = take_out_others(files);
  std::vector<std::string> notes;
  add_logs(logs, options.log_ranks, cluster, files, left, notes);
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
  // Logs tell of messages alone. The rest is then by the data sheets of the cluster.
  save(options.output,
       logs_alone ? with_messages(model::nominal_machine(cluster), machine) : machine);
  std::FILE* const told = to_standard_output ? stderr : stdout;
  fmt::print(told, "{}: {}, from {}\n", to_standard_output ? "machine" : options.output,
             model::fitted_text(machine), counted(std::ssize(files), "result file"));
  if (!left.empty()) fmt::print(told, "left out: {}\n", fmt::join(left, "; "));
  print_contention(told, machine);
  std::ranges::copy(model::contention_notes(files, options.conditions), std::back_inserter(notes));
  for (const std::string& note : notes) fmt::print(told, "note: {}\n", note);
  if (!has_trainings) results.clear();
  // Beside logs, data sheets say what the machine lacks.
  if (!logs_alone) {
    print_next(steps_of_machine(options.output, machine, files, results),
               options.quiet || to_standard_output);
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
                  "Result files or folders of bench conv, update, memory, io, comm, device; text "
                  "of nccl-tests and of OSU's collectives")
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
  declare_quiet(verb, options->quiet);
  declare_conditions(verb, options->conditions);
  options->log_ranks.declare(verb);
  options->inter_node.declare(verb);
  options->cases.declare(verb);
  options->kernels.declare(verb);
  group_options(verb,
                {{"The hardware that was measured", {"--cluster", "--workers"}},
                 {"Conditions to fit, if the results have several",
                  {"--cache", "--message-cache", "--source", "--backend"}},
                 {"Published trainings", {"--cases", "--choose-terms"}},
                 {"Published times of kernels", {"--kernels"}},
                 {"Output", {"--output", "--quiet"}},
                 {"Advanced", {"--log-ranks", "--inter-node-bandwidth", "--inter-node-latency"}}});
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
