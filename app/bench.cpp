// dlscale bench: runs one benchmark on the ranks this process was launched with.
#include "bench/benchmark.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/positive.hpp"
#include "app/session.hpp"
#include "app/verb.hpp"
#include "backend/compute/compute.hpp"
#include "bench/together.hpp"
#include "core/interrupt.hpp"
#include "core/measurement.hpp"

namespace dlscale::app {
namespace {

struct BenchOptions {
  const bench::Benchmark* benchmark = nullptr;
  std::map<std::string, std::string> values;
  SessionOptions session;
  std::string output;
  bench::RunnerOptions runner;
  double max_time_s = 2.0;
};

std::string option_name(std::string_view axis) {
  std::string name = "--" + std::string(axis);
  std::ranges::replace(name, '_', '-');
  return name;
}

std::vector<std::string> own_command() {
  std::vector<std::string> words;
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen("/proc/self/cmdline", "r"),
                                                       std::fclose);
  std::string word;
  for (int c = 0; file && (c = std::fgetc(file.get())) != EOF;) {
    if (c != 0) {
      word += static_cast<char>(c);
    } else {
      words.push_back(std::exchange(word, {}));
    }
  }
  return words;
}

/// Versions of what runs: the communicator's library and those of the compute backends.
std::map<std::string, std::string> library_versions(const bench::Context& context) {
  std::map<std::string, std::string> versions{{"communicator", context.communicator->library()}};
  if (!context.values.contains("backend")) return versions;
  for (const std::string& name : context.list("backend")) {
    if (const auto* found = family<backend::ComputeBackend>().find(name)) {
      versions.merge(found->open({})->libraries());
    }
  }
  return versions;
}

/// Where the compute backends that are asked for leave what the ranks exchange.
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
                    const Session& session) {
  ResultHeader header;
  header.benchmark = options.benchmark->name;
  header.command = own_command();
  header.run = options.values;
  header.run["ranks"] = std::to_string(context.communicator->size());
  header.run.insert_or_assign("comm", session.communicator_name());
  header.environment = capture_environment();
  header.environment.libraries = library_versions(context);
  return header;
}

/// What the measurements of a run add up to.
struct Tally {
  int wrong = 0;
  int measured = 0;
  std::string first_reason;  ///< of what is wrong
  void count(const Measurement& measurement) {
    if (measurement.status == Status::wrong && wrong++ == 0) first_reason = measurement.reason;
    measured += measurement.series.empty() ? 0 : 1;
  }
  [[nodiscard]] ExitCode exit_code() const {
    if (wrong > 0) return ExitCode::wrong_result;
    return measured > 0 ? ExitCode::ok : ExitCode::nothing_measured;
  }
};

bool lists_only(const std::vector<std::string>& flags) {
  return std::ranges::any_of(flags, [](const std::string& flag) {
    return flag.starts_with("--benchmark_list_tests") && !flag.ends_with("false");
  });
}

/// The exit code is decided on rank 0, which sees the measurements, for all.
ExitCode agree(backend::Communicator& communicator, ExitCode code) {
  int value = static_cast<int>(code);
  communicator.broadcast(std::as_writable_bytes(std::span(&value, 1)), 0);
  return static_cast<ExitCode>(value);
}

void explain(ExitCode code, const Tally& tally) {
  if (code == ExitCode::nothing_measured) {
    fmt::print(
        stderr,
        "dlscale: nothing was measured: no cell matches the options, or none is supported here.\n");
  }
  if (code == ExitCode::wrong_result) {
    fmt::print(
        stderr, "dlscale: {}, so no time is given: {}\n",
        tally.wrong == 1 ? "a result is wrong" : fmt::format("{} results are wrong", tally.wrong),
        tally.first_reason);
  }
}

/// The first rank says it for all, who wait for that: launchers end all when one leaves.
ExitCode say_once(Session& session, const Error& error) {
  backend::Communicator& communicator = session.communicator();
  if (communicator.rank() == 0) fmt::print(stderr, "dlscale: {}\n", error.what());
  communicator.barrier();
  session.close();
  return error.code();
}

ExitCode run_bench(BenchOptions options) {
  options.session.results = options.output;
  options.session.gradients = gradients(options);
  Session session(options.session);
  backend::Communicator& communicator = session.communicator();
  const bool root = communicator.rank() == 0;
  bench::Context context{.values = options.values, .communicator = &communicator};
  context.values["cores_per_rank"] = std::to_string(session.cores_per_rank());
  options.values = context.values;

  const bool list = lists_only(options.runner.flags);
  std::optional<ResultWriter> writer;
  if (root && !options.output.empty() && !list)
    writer.emplace(options.output, header(options, context, session));
  if (writer && options.output == "-") {
    options.runner.display = bench::RunnerOptions::Display::standard_error;
  }
  Tally tally;
  try {
    bench::run_benchmark(*options.benchmark, context, options.runner,
                         [&](const Measurement& measurement) {
                           tally.count(measurement);
                           if (writer) writer->write(measurement);
                         });
  } catch (const bench::FoundByAll& error) {
    return say_once(session, error);
  }
  if (const int signal = pending_signal(); signal != 0) throw Interrupted(signal);
  if (writer) writer->finish();
  const ExitCode code = agree(communicator, list ? ExitCode::ok : tally.exit_code());
  session.close();
  if (root) explain(code, tally);
  return code;
}

void check_extras(const std::vector<std::string>& extras) {
  for (const std::string& extra : extras) {
    if (!extra.starts_with("--benchmark_")) {
      throw ConfigError(
          fmt::format("\"{}\" is no option of this benchmark. See --help; Google Benchmark's own "
                      "flags start with --benchmark_.",
                      extra));
    }
  }
}

void declare_criterion(CLI::App& command, BenchOptions& options) {
  command.add_option("--max-time", options.max_time_s, "Most seconds of sampling per cell")
      ->check(positive())
      ->capture_default_str();
  command
      .add_option("--precision", options.runner.criterion.relative_half_width,
                  "Stop a cell when the 95 % interval of its median is within this fraction")
      ->check(positive())
      ->capture_default_str();
}

void declare_benchmark(CLI::App& verb, const bench::Benchmark& benchmark, ExitCode& result) {
  CLI::App* command = verb.add_subcommand(std::string(benchmark.name), std::string(benchmark.doc));
  auto options = std::make_shared<BenchOptions>();
  options->benchmark = &benchmark;
  for (const bench::Axis& axis : benchmark.axes) {
    std::string& value = options->values[std::string(axis.name)];
    value = axis.default_value;
    command->add_option(option_name(axis.name), value, std::string(axis.doc))
        ->capture_default_str();
  }
  command->add_option("-o,--output", options->output,
                      "Result file (JSON Lines), or - for standard output");
  command
      ->add_option("--ranks", options->session.ranks,
                   "Ranks expected; stops if the launcher started another number")
      ->check(positive());
  command
      ->add_option(
          "--comm", options->session.comm,
          "Communicator: local, mpi, mpi_cuda (memory of GPUs directly), mpi_staged (by way "
          "of the host's) or nccl; auto: of several ranks on GPUs nccl if each has one of "
          "its own, else as the launcher asks")
      ->capture_default_str();
  command
      ->add_option("--cores-per-rank", options->session.cores_per_rank,
                   "Bind each rank to this many cores (default: an even share)")
      ->check(positive());
  if (benchmark.stopping == bench::Benchmark::Stopping::criterion) {
    declare_criterion(*command, *options);
  }
  command->add_option("--order-seed", options->runner.seed, "Seed of the order of cells")
      ->check(seed())
      ->capture_default_str();
  command->allow_extras();
  command->footer("Example: dlscale bench " + std::string(benchmark.name) +
                  " -o result.jsonl\nFlags of Google Benchmark work too: --benchmark_filter=REGEX, "
                  "--benchmark_list_tests, …");
  command->callback([command, options, &result] {
    check_extras(command->remaining());
    options->runner.flags = command->remaining();
    options->runner.criterion.max_time = Seconds(options->max_time_s);
    result = run_bench(*options);
  });
}

void declare(CLI::App& verb, ExitCode& result) {
  verb.require_subcommand(1);
  for (const bench::Benchmark* benchmark : family<bench::Benchmark>().members) {
    declare_benchmark(verb, *benchmark, result);
  }
}

}  // namespace

extern const Verb bench_verb{"bench", "Measure the parts of a training step, or training itself",
                             declare};

}  // namespace dlscale::app
