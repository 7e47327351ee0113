#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <system_error>
#include <utility>

#include "bench/e2e/profile_file.hpp"
#include "bench/e2e/training.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/workbench/workbench.hpp"
#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/run/run.hpp"
#include "core/run/schedule_settings.hpp"
#include "core/system/this_command_line.hpp"
#include "train/engine/program_plan.hpp"

namespace dlscale::bench {
namespace {

/// Parses the whole text as a number ≥ 0.
template <class Number>
Number parse_number(const Context& context, std::string_view axis, std::string_view example) {
  const std::string& text = context.value(axis);
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (whole && std::isfinite(static_cast<double>(value)) && value >= 0) return value;
  throw ConfigError(fmt::format("{} is \"{}\" (no number from 0 up). Write, for example, \"{}\".",
                                option_name(axis), text, example));
}

backend::WaitPolicy parse_waiting(std::string_view text) {
  if (text == "sleep") return backend::WaitPolicy::sleep;
  if (text == "spin") return backend::WaitPolicy::spin;
  throw ConfigError(
      fmt::format("{} is \"{}\". Write sleep or spin.", option_name("waiting"), text));
}

std::string waiting_name(backend::WaitPolicy waiting) {
  return waiting == backend::WaitPolicy::sleep ? "sleep" : "spin";
}

/// Parses the timing; a trace needs phases.
train::Timing parse_timing(const std::string& phases, const std::string& trace) {
  if (phases == "yes") return train::Timing::phases;
  if (phases != "no") {
    throw ConfigError(
        fmt::format("{} is \"{}\" (neither yes nor no). Write no to time iterations as a whole.",
                    option_name("phases"), phases));
  }
  if (trace.empty()) return train::Timing::iteration;
  throw ConfigError(fmt::format(
      "{} is made of the phases of each iteration, which {} no does not time. Leave out "
      "one of them.",
      option_name("trace"), option_name("phases")));
}

/// Parses the trace prefix. There is a file per rank, so devices and standard output are refused.
std::string parse_trace(const std::string& text) {
  std::error_code absent;
  const bool names_files = text != "-" && std::filesystem::path(text).parent_path() != "/dev" &&
                           !std::filesystem::is_other(text, absent);
  if (names_files) return text;
  throw ConfigError(
      fmt::format("{} is {} (with it begin the names of files, {}-rank0.json and so on, one a "
                  "rank, and no device takes several). Name them, for example, trace.",
                  option_name("trace"), text, text));
}

/// Makes the profile, one regular file that rank 0 writes; null if none is requested.
std::shared_ptr<ProfileFile> make_profile(const Context& context) {
  const std::string& path = context.value("profile");
  if (path.empty()) return nullptr;
  if (path == "-") {
    throw ConfigError(
        fmt::format("{} is - (standard output has the table or the results). Name a file, for "
                    "example, profile.jsonl.",
                    option_name("profile")));
  }
  if (context.communicator->size() == 1) {
    throw ConfigError(
        fmt::format("{} {} would stay empty: 1 rank sends nothing. Leave it out, or start several "
                    "ranks: mpirun "
                    "-n 2 {}",
                    option_name("profile"), path, fmt::join(this_command_line(), " ")));
  }
  std::map<std::string, std::string> options = context.values;
  options["ranks"] = std::to_string(context.communicator->size());
  return std::make_shared<ProfileFile>(path, std::move(options));
}

/// The given place of normalisation. By default the one with fewest bytes to copy: a device with
/// its own memory.
Normalisation normalisation(const Context& context) {
  const std::string& text = context.value("normalise");
  if (text != "auto") return parse_normalisation(text);
  const bool apart = find_backend(context.value("backend")).has_own_memory();
  return apart ? Normalisation::device : Normalisation::host;
}

std::vector<Schedule> parse_schedules(const Context& context) {
  std::vector<Schedule> schedules;
  for (const std::string& name : context.list("schedule")) {
    schedules.push_back(parse_schedule(name));
  }
  return schedules;
}

/// Reads the options of the gradient exchange, except the schedule.
void read_exchange_axes(const Context& context, Run& run) {
  const auto named = [&](const char* axis) {
    return context.given.contains(axis) ? context.value(axis) : std::string();
  };
  apply(read_exchange({{"synchronisation", context.value("synchronisation")},
                       {"cycle", named("cycle")},
                       {"fusion_threshold", named("fusion_threshold")},
                       {"partition", named("partition")},
                       {"credit", named("credit")},
                       {"servers", named("servers")}}),
        parse_schedules(context), run);
}

/// Parses --wait-quiet. Its fixed work measures the processor.
Seconds parse_wait_quiet(const Context& context) {
  const Seconds patience(parse_number<double>(context, "wait_quiet", "120"));
  const std::string& backend = context.value("backend");
  if (patience == Seconds(0) || !find_backend(backend).has_own_memory()) return patience;
  throw ConfigError(
      fmt::format("{} tells by work of the processor how fast the machine is, but the backend {} "
                  "trains on another device. Leave it out.",
                  option_name("wait_quiet"), backend));
}

/// All settings but network, schedule and batch, which vary by cell.
TrainingSettings common_settings(const Context& context) {
  TrainingSettings settings;
  settings.run.ranks = context.communicator->size();
  read_exchange_axes(context, settings.run);
  settings.run.ranks_per_node = context.communicator->node_size();
  settings.run.dtype = parse_dtype(context.value("dtype"));
  settings.run.cores_per_rank = context.integer("cores_per_rank");
  settings.run.compute_threads = context.integer("threads");
  settings.run.loader_threads = context.integer("loader_threads");
  settings.run.prefetch = context.integer("prefetch");
  settings.backend = find_backend(context.value("backend")).name;
  settings.iterations = context.integer("iterations");
  settings.warmup = parse_number<int>(context, "warmup", "3");
  settings.wait_quiet = parse_wait_quiet(context);
  settings.data = context.value("data");
  settings.rate = parse_number<float>(context, "rate", "0.01");
  settings.seed = parse_number<std::uint64_t>(context, "seed", "1");
  settings.run.normalisation = normalisation(context);
  settings.run.launch = parse_launch(context.value("launch"));
  settings.run.fuse_relu = parse_fusion(context.value("fuse"));
  settings.waiting = parse_waiting(context.value("waiting"));
  settings.trace = parse_trace(context.value("trace"));
  settings.timing = parse_timing(context.value("phases"), settings.trace);
  settings.profile = make_profile(context);
  return settings;
}

std::map<std::string, std::string> axes(const TrainingSettings& settings,
                                        const std::string& repeat) {
  const Run& run = settings.run;
  std::map<std::string, std::string> all = schedule_axes(run);
  all.merge(std::map<std::string, std::string>{
      {"network", run.network},
      {"batch", std::to_string(run.batch)},
      {"dtype", std::string(dtype_name(run.dtype))},
      {"backend", settings.backend},
      {"ranks", std::to_string(run.ranks)},
      {"ranks_on_node", std::to_string(run.ranks_per_node)},
      {"cores_per_rank", std::to_string(run.cores_per_rank)},
      {"threads", std::to_string(run.compute_threads)},
      {"loader_threads", std::to_string(run.loader_threads)},
      {"prefetch", std::to_string(run.prefetch)},
      {"normalise", std::string(normalisation_name(run.normalisation))},
      {"launch", std::string(launch_name(run.launch))},
      {"fuse", std::string(fusion_name(run))},
      {"waiting", waiting_name(settings.waiting)},
      {"phases", settings.timing == train::Timing::phases ? "yes" : "no"},
      {"repeat", repeat}});
  return all;
}

Cell make_training_cell(TrainingSettings settings, const std::string& repeat) {
  check(settings.run);
  settings.axes = axes(settings, repeat);
  return {settings.axes,
          [settings](const Sampler& sampler) { return measure_training(sampler, settings); }};
}

/// Refuses repeated network names, as these identify the measurements.
void refuse_repeated(std::set<std::string>& names, const std::string& name,
                     const std::string& source) {
  if (names.insert(name).second) return;
  throw ConfigError(fmt::format(
      "{} names \"{}\" twice, the second time as {} (their results could not be told apart). Give "
      "the second another name in its file, or leave it out.",
      option_name("network"), name, source));
}

std::vector<Cell> make_training_cells(Context& context) {
  TrainingSettings settings = common_settings(context);
  const std::string repeat = std::to_string(context.integer("repeat"));
  std::vector<Cell> cells;
  std::set<std::string> names;
  for (const std::string& source : context.list("network")) {
    settings.network = std::make_shared<const Network>(load_network(source));
    train::check_trainable(*settings.network);
    settings.network_source = source;
    settings.run.network = settings.network->name();
    refuse_repeated(names, settings.run.network, source);
    for (const Schedule schedule : parse_schedules(context)) {
      settings.run.schedule = schedule;
      for (const int batch : context.integers("batch")) {
        settings.run.batch = batch;
        cells.push_back(make_training_cell(settings, repeat));
      }
    }
  }
  if (!settings.trace.empty() && cells.size() > 1) {
    throw ConfigError(fmt::format(
        "{} names the files of one training run, but {} are asked for (each would overwrite the "
        "last). Choose one network, schedule and batch.",
        option_name("trace"), cells.size()));
  }
  return cells;
}

}  // namespace

extern const Benchmark e2e{
    .name = "e2e",
    .doc = "Train a network on real pictures and time the phases of every iteration",
    .axes =
        {{"network", "networks to train", "resnet50"},
         {"batch", "images per rank and iteration", "8"},
         {"dtype", "precision of the kernels: f32, tf32 or bf16, as far as the backend has them",
          "f32"},
         {"backend", "compute backend", "onednn"},
         {"schedule",
          "when gradients travel: sequential, wait_free, bucketed, merged_greedy, merged, "
          "horovod, reduce_scatter_overlap, priority",
          "wait_free"},
         {"synchronisation",
          "all_reduce: every rank updates all parameters; parameter_server: each rank those "
          "that it owns (with sequential, wait_free, bucketed)",
          "all_reduce"},
         advanced("cycle", "horovod: from one wake-up of its thread to the next", "1 ms"),
         advanced("fusion_threshold", "horovod: the most packed into one message", "128 MiB"),
         advanced("partition", "priority: the most of a part of a gradient", "4096000 B"),
         advanced("credit", "priority: parts under way at once", "4"),
         advanced("servers", "parameter_server: ranks that own parameters, from 0 on", "all"),
         {"iterations", "iterations to measure", "20"},
         {"warmup",
          "iterations before them; four more with merged_greedy and merged, which watch the "
          "first ones",
          "3"},
         {"data", "folder of the data set, as the verb data make writes it", "data"},
         {"threads", "compute threads per rank", "1"},
         {"loader_threads", "threads per rank that read and decode pictures", "1"},
         advanced("prefetch", "batches decoded ahead", "2"),
         advanced(
             "normalise",
             "where pictures are normalised: host, by the loader threads, so that f32 travels to "
             "the device; device, on GPUs, so that bytes do, a quarter as many; auto: device "
             "where that is possible",
             "auto"),
         {"launch",
          "eager: every kernel anew; graph: recorded once and replayed, on devices that run "
          "beside the host",
          "eager"},
         {"fuse", "relu: ReLUs are parts of the layers before them, where they can be; none",
          "none"},
         advanced(
             "wait_quiet",
             "count only iterations during which this machine was as fast as at its best, told by "
             "fixed work before and after each, and train up to so many seconds for others; 0: "
             "count all",
             "0"),
         advanced("rate", "learning rate", "0.01"),
         advanced("repeat", "number of this launch, to tell repeated ones apart", "1"),
         advanced("seed", "of weights, crops and the order of pictures", "1"),
         {"waiting", "how a rank waits for the others: sleep or spin", "sleep"},
         advanced("phases",
                  "yes; no: time iterations as a whole, which shows what timing phases costs",
                  "yes"),
         {"trace", "write a trace for Perfetto to TRACE-rank<r>.json", ""},
         {"profile",
          "result file for what the ranks send each other in the measured iterations, for "
          "report",
          ""}},
    .cells = make_training_cells,
    .stopping = Benchmark::Stopping::axes};

}  // namespace dlscale::bench
