// dlscale bench: runs one benchmark on the launched ranks.
#include "app/cli/document_output.hpp"
#include "app/cli/foreign_words.hpp"
#include "app/cli/option_values.hpp"
#include "bench/engine/benchmark.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "app/cli/option_file.hpp"
#include "app/cli/rank0_error.hpp"
#include "app/cli/verb.hpp"
#include "app/measure/bench_output.hpp"
#include "app/measure/bench_suite.hpp"
#include "app/measure/row_shares.hpp"
#include "app/measure/session.hpp"
#include "app/report/measured_steps.hpp"
#include "backend/comm/launch.hpp"
#include "backend/comm/together.hpp"
#include "backend/compute/compute.hpp"
#include "backend/host/host.hpp"
#include "backend/power/gpu_facts.hpp"
#include "bench/e2e/profile_file.hpp"
#include "core/base/interrupt.hpp"
#include "core/results/measurement.hpp"
#include "core/results/result_json.hpp"
#include "core/results/usable_rows.hpp"
#include "core/system/build_info.hpp"
#include "core/system/this_command_line.hpp"
#include "model/roofline/kernels/measured_roofline.hpp"

namespace dlscale::app {
namespace {

struct BenchOptions {
  const bench::Benchmark* benchmark = nullptr;
  std::map<std::string, std::string> values;
  SessionOptions session;
  std::string output;
  bool resume = false;
  ShareOptions shares;
  SuiteChoice suite;
  bench::RunnerOptions runner;
  double max_time_s = 2.0;
  std::optional<double> wait_quiet_s;
  std::optional<int> warm_ups;
  std::optional<int> samples;
  std::string extra_work;       ///< empty: none
  std::set<std::string> given;  ///< names of the axes that were given
};

/// Versions of the communicator's library and of the compute backends.
std::map<std::string, std::string> library_versions(const bench::Context& context) {
  std::map<std::string, std::string> versions{{"communicator", context.communicator->library()}};
  if (!context.values.contains("backend")) return versions;
  for (const std::string& name : context.list("backend")) {
    if (const auto* found = family<backend::ComputeBackend>().find(name)) {
      try {
        versions.merge(found->open({})->libraries());
      } catch (const Unsupported&) {
        // The cells of that backend report it, while others may be measured.
      }
    }
  }
  return versions;
}

/// The memory in which the requested compute backends leave the gradients.
backend::DataPlace gradients(const BenchOptions& options) {
  const bench::Context context{.values = options.values, .communicator = nullptr};
  if (!options.values.contains("backend")) return backend::DataPlace::host;
  const std::vector<std::string> names = context.list("backend");
  const bool on_devices = std::ranges::any_of(names, [](const std::string& name) {
    const auto* found = family<backend::ComputeBackend>().find(name);
    return found != nullptr && found->has_own_memory();
  });
  return on_devices ? backend::DataPlace::device : backend::DataPlace::host;
}

ResultHeader header(const BenchOptions& options, const bench::Context& context,
                    const Session& session, const std::optional<RowShares>& shares) {
  ResultHeader header;
  header.benchmark = options.benchmark->name;
  header.command = this_command_line();
  header.run = options.values;
  header.run["ranks"] = std::to_string(context.communicator->size());
  header.run.insert_or_assign("comm", session.communicator_name());
  if (options.benchmark->stopping == bench::Benchmark::Stopping::criterion) {
    header.run["max_time"] = fmt::format("{}", options.max_time_s);
    header.run["precision"] = fmt::format("{}", options.runner.criterion.relative_half_width);
    if (options.warm_ups) header.run["warm_ups"] = std::to_string(*options.warm_ups);
    if (options.samples) header.run["samples"] = std::to_string(*options.samples);
    if (!options.extra_work.empty()) {
      header.run[std::string(extra_work_axis)] = bench::extra_work_text(*options.runner.extra_work);
    }
  }
  if (!options.shares.cluster.empty()) header.run["cluster"] = options.shares.cluster;
  if (!options.shares.ceilings.empty()) {
    header.run["ceilings"] = fmt::format("{}", fmt::join(options.shares.ceilings, ","));
  }
  if (shares) header.run["ceilings_hash"] = shares->hash();
  if (const Bytes cache = backend::last_level_cache(); cache > Bytes(0)) {
    header.run[std::string(model::last_level_cache_fact)] = fmt::format("{:.0f} B", cache.si());
  }
  header.run["build"] = build_id();
  header.environment = capture_environment();
  header.environment.libraries = library_versions(context);
  header.environment.facts.merge(backend::gpu_facts());
  // A single host is named only by its hash.
  if (context.communicator->size() > 1) {
    header.environment.facts["ranks_by_host"] = session.ranks_by_host();
  }
  return header;
}

bool lists_only(const std::vector<std::string>& flags) {
  return std::ranges::any_of(flags, [](const std::string& flag) {
    return flag.starts_with("--benchmark_list_tests") && !flag.ends_with("false");
  });
}

/// Whether standard output is for people, beside results in a file or none.
bool prints_text(const BenchOptions& options) {
  const auto is_for_programs = [](const std::string& flag) {
    return flag.starts_with("--benchmark_format") && !flag.ends_with("console");
  };
  return options.output != "-" && std::ranges::none_of(options.runner.flags, is_for_programs);
}

/// Rank 0, which sees the measurements, decides the exit code of all ranks.
ExitCode agree(backend::Communicator& communicator, ExitCode code) {
  int value = static_cast<int>(code);
  communicator.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
  return static_cast<ExitCode>(value);
}

/// Counts the results that the file already has.
void go_on_with(const BenchOutput& output, const BenchOptions& options, Tally& tally) {
  if (output.kept().empty()) return;
  for (const Measurement& measurement : output.kept()) tally.count(measurement);
  fmt::print(stderr, "dlscale: going on with {}: {} there already\n", options.output,
             output.kept().size() == 1 ? "1 measurement is"
                                       : fmt::format("{} measurements are", output.kept().size()));
}

std::optional<RowShares> row_shares(BenchOptions& options) {
  if (options.shares.cluster.empty() && options.shares.ceilings.empty()) return std::nullopt;
  const bench::Context context{.values = options.values, .communicator = nullptr};
  options.shares.threads = context.integer("threads");
  return RowShares(options.shares);
}

/// Rank 0 prints the error. The others wait for it, since launchers end all ranks when one leaves.
ExitCode say_once(Session& session, const Error& error) {
  backend::Communicator& communicator = session.communicator();
  const bool prints = communicator.rank() == 0;
  if (prints) fmt::print(stderr, "dlscale: {}\n", on_one_line(sentence_of(error)));
  communicator.barrier();
  session.close();
  return error.code();
}

/// The value of an axis that the benchmark has and that was given.
std::string value_or_empty(const BenchOptions& options, const std::string& axis) {
  const auto named = options.values.find(axis);
  return named == options.values.end() ? "" : named->second;
}

/// The trace files that the ranks will write; the launcher reports the number of ranks.
std::vector<NamedFile> trace_files(const BenchOptions& options) {
  const std::string trace = value_or_empty(options, "trace");
  if (trace.empty()) return {};
  const auto launch = backend::detect_launch([](const char* name) { return std::getenv(name); });
  const int ranks = std::max({1, options.session.ranks, launch ? launch->size : 1});
  std::vector<NamedFile> files;
  files.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank) {
    files.push_back({"--trace", bench::trace_path(trace, rank).string()});
  }
  return files;
}

/// Throws ConfigError if the output is one of the run's inputs or other outputs.
void check_output_apart(const BenchOptions& options) {
  std::vector<NamedFile> others = trace_files(options);
  const NamedFile profile{"--profile", value_or_empty(options, "profile")};
  refuse_as_output(profile, others);
  others.push_back(profile);
  for (const std::string& file : options.shares.ceilings) others.push_back({"--ceilings", file});
  refuse_as_output({"-o", options.output}, others);
}

/// Checks the ceilings on rank 0.
void look_at(const RowShares& shares, const BenchOptions& options) {
  shares.expect_measured_here();
  const std::string doubt = shares.doubt(options.session.gradients);
  if (!doubt.empty()) fmt::print(stderr, "dlscale: {}\n", doubt);
}

/// Sets the runner's callbacks. Rank 0 opens the output only when all requested parts are
/// available.
void prepare_runner(BenchOptions& options, const bench::Context& context, const Session& session,
                    const std::optional<RowShares>& shares, std::optional<BenchOutput>& output,
                    Tally& tally) {
  if (options.output == "-" && !lists_only(options.runner.flags)) {
    options.runner.display = bench::RunnerOptions::Display::standard_error;
  }
  options.runner.begin = [&] {
    if (options.output.empty()) return;
    backend::on_first_rank(*context.communicator, [&] {
      output.emplace(options.output, header(options, context, session, shares),
                     options.resume ? Resume::yes : Resume::no);
      go_on_with(*output, options, tally);
    });
  };
  options.runner.complete = [&](Measurement& row) {
    if (shares) shares->add(row);
    row = refuse_not_finite(std::move(row));  // so that counts and display match the file
  };
  if (!options.resume) return;
  options.runner.is_done = [&](const bench::Cell& cell) {
    return output && output->holds(std::string(options.benchmark->name), cell.axes);
  };
}

/// The commands after a run: they measure again what is unstable, rather than go on with it.
std::vector<report::NextStep> next_steps(const BenchOptions& options, const Tally& tally,
                                         int ranks) {
  if (tally.unstable == 0) return steps_of_bench(options.benchmark->name, options.output);
  std::map<std::string, std::string> run = options.values;
  run["ranks"] = std::to_string(ranks);
  if (options.benchmark->stopping == bench::Benchmark::Stopping::criterion) {
    run["max_time"] = fmt::format("{}", options.max_time_s);
  }
  return steps_of_unstable(tally.unstable, tally.measured, this_command_line(), run);
}

ExitCode run_bench(BenchOptions options) {
  options.session.results = options.output;
  if (options.benchmark->settle != nullptr) {
    options.benchmark->settle(options.values, options.given);
  }
  std::optional<RowShares> shares;
  std::optional<Session> joined;
  const std::optional<ExitCode> refused = refusal([&] {
    shares = row_shares(options);
    options.session.gradients = gradients(options);
    joined.emplace(options.session);
  });
  if (refused) return *refused;
  Session& session = *joined;
  backend::Communicator& communicator = session.communicator();
  const bool root = communicator.rank() == 0;
  const bool is_alone = communicator.size() == 1;
  bench::Context context{
      .values = options.values, .communicator = &communicator, .given = options.given};
  context.values["cores_per_rank"] = std::to_string(session.cores_per_rank());
  options.values = context.values;
  std::optional<BenchOutput> output;
  Tally tally;
  prepare_runner(options, context, session, shares, output, tally);
  try {
    if (shares) backend::on_first_rank(communicator, [&] { look_at(*shares, options); });
    bench::run_benchmark(*options.benchmark, context, options.runner,
                         [&](const Measurement& measurement) {
                           tally.count(measurement);
                           if (output) output->write(measurement);
                         });
  } catch (const backend::FoundByAll& error) {
    return say_once(session, error);
  }
  if (const int signal = pending_signal(); signal != 0) throw Interrupted(signal);
  if (output) output->finish();
  const bool list = lists_only(options.runner.flags);
  const ExitCode code = agree(communicator, list ? ExitCode::ok : tally.exit_code());
  session.close();
  if (!root || list) return code;
  explain(code, tally, output && output->left_earlier_results() ? options.output : "");
  // Words that keep the results would have to stand behind a launcher.
  const bool has_next = code == ExitCode::ok && (output || is_alone);
  if (has_next && prints_text(options)) {
    print_next(next_steps(options, tally, communicator.size()), options.runner.quiet);
  }
  return code;
}

void check_extras(const CLI::App& command, const std::vector<std::string>& extras) {
  for (const std::string& extra : extras) {
    if (extra.starts_with("--benchmark_")) continue;
    std::string help = answer_to_foreign(command, extra.substr(0, extra.find('=')), "");
    if (help.empty()) help = "See --help; Google Benchmark's own flags start with --benchmark_.";
    throw ConfigError(fmt::format("\"{}\" is not an option of this benchmark. {}", extra, help));
  }
}

void declare_criterion(CLI::App& command, BenchOptions& options) {
  command.add_option("--max-time", options.max_time_s, "Most seconds of sampling per cell")
      ->check(positive())
      ->capture_default_str();
  command
      .add_option("--precision", options.runner.criterion.relative_half_width,
                  "Stop at this relative half-width of the 95 % interval")
      ->check(positive())
      ->capture_default_str();
  command
      .add_option("--samples", options.samples,
                  "Take so many samples of each cell, whatever their interval and time")
      ->check(positive());
  command
      .add_option("--warm-ups", options.warm_ups,
                  "Samples of each cell before those that are kept (default: two, or as many as "
                  "last 50 ms)")
      ->check(positive());
  command
      .add_option("--wait-quiet", options.wait_quiet_s,
                  "Spend up to so many seconds on waiting until fixed work is as fast as at its "
                  "best, and on measuring again; rows that were measured all the same are unstable")
      ->check(positive());
}

void declare_extra_work(CLI::App& command, BenchOptions& options) {
  command.add_option("--extra-work", options.extra_work,
                     "For studies of noise: each sample is of 100 runs and so many percent more, "
                     "such as 5%, over 100. Such rows compare with each other only");
}

void set_criterion(const BenchOptions& options, bench::StoppingCriterion& criterion) {
  criterion.max_time = Seconds(options.max_time_s);
  if (options.samples) criterion.min_samples = criterion.max_samples = *options.samples;
  if (!options.warm_ups) return;
  criterion.min_warmups = *options.warm_ups;
  criterion.min_warmup = Seconds(0);
}

void declare_shares(CLI::App& command, ShareOptions& options) {
  command
      .add_option("--cluster", options.cluster,
                  "Cluster of whose peak each row has its share: a name in configs/clusters, or a "
                  "YAML file")
      ->type_name("CLUSTER");
  command
      .add_option("--ceilings", options.ceilings,
                  "Results of bench memory and of bench peak, gemm or conv here: each row in one "
                  "of their precisions has its share of their roofline, as roofline show has it")
      ->type_name("FILE");
}

/// Training runs cannot resume, since each is measured as a whole.
void declare_resume(CLI::App& command, BenchOptions& options) {
  command.add_flag("--resume", options.resume,
                   "Go on with the file of -o: keep what the same build measured here with the "
                   "same options, and measure what is missing");
}

void check_resume(const BenchOptions& options) {
  if (!options.resume) return;
  if (options.output.empty() || options.output == "-") {
    throw ConfigError(
        "--resume has no file to go on with. Name the one of the earlier run with -o FILE, or "
        "leave --resume out.");
  }
  for (const std::string& flag : options.runner.flags) {
    if (!flag.starts_with("--benchmark_repetitions")) continue;
    throw ConfigError(
        fmt::format("{} and --resume do not go together: which of the repetitions a row of the "
                    "file is, another run cannot tell. Leave one of them out.",
                    flag));
  }
}

/// Puts the options that a benchmark has below headings of its help.
void group_bench_options(CLI::App& command, const bench::Benchmark& benchmark) {
  constexpr const char* measured = "What to measure";
  constexpr const char* advanced = "Advanced";
  for (const auto& [heading, names] :
       {std::pair(measured, std::vector{"--suite", "--restart"}),
        std::pair("Sampling", std::vector{"--max-time", "--precision"}),
        std::pair("Ranks and results",
                  std::vector{"--ranks", "--comm", "--cores-per-rank", "--output", "--resume",
                              "--cluster", "--ceilings"}),
        std::pair(advanced, std::vector{"--samples", "--warm-ups", "--wait-quiet", "--extra-work",
                                        "--heartbeat-timeout", "--order-seed", "--quiet"})}) {
    for (const char* name : names) {
      if (CLI::Option* option = command.get_option_no_throw(name)) option->group(heading);
    }
  }
  for (const bench::Axis& axis : benchmark.axes) {
    const bool is_usual = axis.help == bench::Axis::Help::short_and_full;
    command.get_option(bench::option_name(axis.name))->group(is_usual ? measured : advanced);
  }
}

void declare_benchmark(CLI::App& verb, const bench::Benchmark& benchmark, ExitCode& result) {
  CLI::App* command = verb.add_subcommand(std::string(benchmark.name), std::string(benchmark.doc));
  auto options = std::make_shared<BenchOptions>();
  options->benchmark = &benchmark;
  for (const bench::Axis& axis : benchmark.axes) {
    std::string& value = options->values[std::string(axis.name)];
    value = axis.default_value;
    CLI::Option* option =
        command->add_option(bench::option_name(axis.name), value, std::string(axis.doc));
    option->capture_default_str();
    if (axis.name.starts_with("network")) option->type_name("NETWORK");
  }
  command
      ->add_option("-o,--output", options->output,
                   "Result file (JSON Lines), or - for standard output")
      ->type_name("FILE");
  command
      ->add_option("--ranks", options->session.ranks,
                   "Ranks expected; stops if the launcher started another number")
      ->check(positive());
  command
      ->add_option(
          "--comm", options->session.comm,
          "Communicator: local, mpi, mpi_cuda (memory of GPUs directly), mpi_staged (by way "
          "of the host's) or nccl; auto: nccl if each rank has a GPU, else as the launcher asks")
      ->capture_default_str();
  command
      ->add_option("--cores-per-rank", options->session.cores_per_rank,
                   "Bind each rank to this many cores (default: an even share)")
      ->check(positive());
  command
      ->add_option("--heartbeat-timeout", options->session.patience_s,
                   "Seconds without a sign of life after which a rank on another node counts as "
                   "dead")
      ->check(positive())
      ->capture_default_str();
  if (benchmark.stopping == bench::Benchmark::Stopping::criterion) {
    declare_criterion(*command, *options);
    if (benchmark.extra == bench::Benchmark::Extra::offered) {
      declare_extra_work(*command, *options);
    }
    declare_resume(*command, *options);
  }
  if (benchmark.rows == bench::Benchmark::Rows::kernels) declare_shares(*command, options->shares);
  if (benchmark.suites == bench::Benchmark::Suites::named_after_it) {
    declare_suite(*command, benchmark.name, options->suite);
  }
  command->add_option("--order-seed", options->runner.seed, "Seed of the order of cells")
      ->check(seed())
      ->capture_default_str();
  declare_quiet(*command, options->runner.quiet);
  group_bench_options(*command, benchmark);
  command->allow_extras()->footer(
      "Example: dlscale bench " + std::string(benchmark.name) +
      " -o result.jsonl\nFlags of Google Benchmark work too: --benchmark_filter=REGEX, "
      "--benchmark_list_tests, …");
  command->callback([command, options, &result] {
    if (names_suite(*command)) {
      result = run_bench_suite(*command, options->benchmark->name, options->suite,
                               {options->wait_quiet_s, options->shares.cluster}, options->output);
      return;
    }
    options->runner.flags = command->remaining();
    for (const bench::Axis& axis : options->benchmark->axes) {
      if (command->count(bench::option_name(axis.name)) > 0) options->given.emplace(axis.name);
    }
    options->session.settings = settings_of(*command);
    set_criterion(*options, options->runner.criterion);
    if (options->wait_quiet_s) options->runner.wait_quiet = Seconds(*options->wait_quiet_s);
    const std::optional<ExitCode> refused = refusal([&] {
      if (!options->extra_work.empty()) {
        options->runner.extra_work = bench::parse_extra_work(options->extra_work);
      }
      check_extras(*command, options->runner.flags);
      check_resume(*options);
      check_output_apart(*options);
    });
    result = refused ? *refused : run_bench(*options);
  });
}

void declare_bench(CLI::App& verb, ExitCode& result) {
  verb.require_subcommand(1);
  for (const bench::Benchmark* benchmark : family<bench::Benchmark>().members) {
    declare_benchmark(verb, *benchmark, result);
  }
  verb.footer("Example: dlscale bench conv --suite quick -o results");
}

}  // namespace

extern const Verb bench_verb{"bench", "Measure the parts of a training step, or training itself",
                             declare_bench, Verb::Signals::are_remembered};

}  // namespace dlscale::app
