#include "app/predict/plan_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "app/cli/number_sweep.hpp"
#include "app/cli/option_values.hpp"
#include "app/options/training_options.hpp"
#include "app/options/training_time_options.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/time_to_train.hpp"

namespace dlscale::app {
namespace {

std::vector<int> ascending(std::vector<int> numbers) {
  std::ranges::sort(numbers);
  return numbers;
}

std::vector<int> find_ranks(const PlanOptions& options, int workers) {
  if (!options.ranks.empty() && !options.max_ranks.empty()) {
    throw ConfigError("Give the ranks once: --ranks LIST, or --max-ranks N for all up to N.");
  }
  if (!options.ranks.empty()) return ascending(swept_counts("--ranks", options.ranks));
  int most = workers;
  if (!options.max_ranks.empty()) {
    most = swept_counts("--max-ranks", std::span(&options.max_ranks, 1)).back();
  }
  const std::string all = fmt::format("1..{}", most);
  return swept_counts("--max-ranks", std::span(&all, 1));
}

template <class Enum>
bool has(const std::vector<Enum>& all, Enum one) {
  return std::ranges::find(all, one) != all.end();
}

void refuse_without_effect(std::string_view option, std::string_view of) {
  throw ConfigError(
      fmt::format("{} changes nothing here: it is a setting of {}. Ask for that, or leave it out.",
                  option, of));
}

std::vector<Synchronisation> find_synchronisations(const TrainingValues& values) {
  const auto found = values.synchronisations.value_or(std::vector{Synchronisation::all_reduce});
  if (has(found, Synchronisation::parameter_server)) return found;
  for (const auto& [option, is_given] :
       {std::pair("--servers", values.servers.has_value()),
        std::pair("--sharding", values.shardings.has_value()),
        std::pair("--transport", values.transports.has_value()),
        std::pair("--server-clients", values.callers.has_value())}) {
    if (is_given) refuse_without_effect(option, "--synchronisation parameter_server");
  }
  return found;
}

/// All compatible pairs of the requested transports and callers.
std::vector<std::pair<Transport, Callers>> find_ways(const TrainingValues& values) {
  const auto transports = values.transports.value_or(std::vector{Transport::collectives});
  const auto callers = values.callers.value_or(std::vector{Callers::ranks});
  std::vector<std::pair<Transport, Callers>> ways;
  for (const Transport transport : transports) {
    // All ranks take part in collectives, whatever --server-clients says.
    if (transport == Transport::collectives) {
      ways.emplace_back(transport, Callers::ranks);
      continue;
    }
    for (const Callers one : callers) ways.emplace_back(transport, one);
  }
  if (values.callers && std::ranges::equal(transports, std::array{Transport::collectives})) {
    refuse_without_effect("--server-clients", "--transport grpc or grpc_rdma");
  }
  return ways;
}

/// Numbers of servers from a list; 0 stands for all ranks, as in ScheduleSettings.
std::vector<int> parse_servers(const std::vector<std::string>& texts) {
  std::vector<int> found;
  std::vector<std::string> numbers;
  std::ranges::copy_if(texts, std::back_inserter(numbers),
                       [](const std::string& text) { return text != "all"; });
  if (!numbers.empty()) found = ascending(swept_counts("--servers", numbers));
  if (numbers.size() < texts.size()) found.push_back(0);
  return found;
}

/// The requested schedules, or the usual ones. Without `all_reduce` each has to go with servers.
std::vector<Schedule> chosen_schedules(const TrainingValues& values, bool all_reduce) {
  if (!values.schedules) return usual_schedules(all_reduce);
  for (const Schedule schedule : *values.schedules) {
    if (all_reduce || goes_with_server(schedule)) continue;
    throw ConfigError(fmt::format(
        "--schedules has {}, which orders all-reduces (a parameter server makes none). Leave it "
        "out, or add all_reduce to --synchronisation.",
        schedule_name(schedule)));
  }
  return *values.schedules;
}

void add_buckets(const PlanOptions& options, std::vector<model::Exchange>& exchanges) {
  for (const std::string& text : swept_quantities<Bytes>("--buckets", options.buckets)) {
    const Bytes size = parse_quantity<Bytes>(text, "--buckets");
    if (size < Bytes(4)) {
      throw ConfigError(
          fmt::format("--buckets has {} (a bucket holds at least one gradient of 4 B); expected, "
                      "for example, 25MiB.",
                      text));
    }
    exchanges.push_back({.schedule = Schedule::bucketed, .bucket = size});
  }
}

/// Schedules and sharding rules that do not go with servers, or with one another.
class LeftOut {
 public:
  void add(Schedule schedule) { schedules_.push_back(schedule_name(schedule)); }
  void add(Schedule schedule, Sharding sharding) {
    pairs_.push_back(fmt::format("{} with {}", schedule_name(schedule), sharding_name(sharding)));
  }
  void tell(std::vector<std::string>& notes) const {
    if (!schedules_.empty()) {
      notes.push_back(fmt::format("left out with parameter servers: {}, which order all-reduces",
                                  fmt::join(schedules_, ", ")));
    }
    if (!pairs_.empty()) {
      notes.push_back(fmt::format(
          "left out with parameter servers: {}, for a bucket belongs to one server as a "
          "whole",
          fmt::join(pairs_, ", ")));
    }
  }

 private:
  std::vector<std::string_view> schedules_;
  std::vector<std::string> pairs_;
};

/// Adds all server variants for the schedules that support servers.
void add_servers(const TrainingValues& values, const std::vector<Schedule>& schedules,
                 std::vector<model::Exchange>& exchanges, std::vector<std::string>& notes) {
  const auto shardings = values.shardings.value_or(std::vector{Sharding::largest_first});
  const std::vector<int> numbers = values.servers.value_or(std::vector{0});
  const auto ways = find_ways(values);
  LeftOut left_out;
  const auto add = [&](Schedule schedule, Sharding sharding) {
    for (const int servers : numbers) {
      for (const auto& [transport, callers] : ways) {
        exchanges.push_back({.schedule = schedule,
                             .synchronisation = Synchronisation::parameter_server,
                             .servers = servers,
                             .sharding = sharding,
                             .transport = transport,
                             .callers = callers});
      }
    }
  };
  for (const Schedule schedule : schedules) {
    if (!goes_with_server(schedule)) {
      left_out.add(schedule);
      continue;
    }
    for (const Sharding sharding : shardings) {
      if (goes_with_sharding(schedule, sharding)) {
        add(schedule, sharding);
      } else {
        left_out.add(schedule, sharding);
      }
    }
  }
  if (std::ranges::any_of(exchanges, &model::Exchange::by_server)) {
    left_out.tell(notes);
    return;
  }
  throw ConfigError(
      "--synchronisation parameter_server goes with none of the --schedules named, by the "
      "--sharding asked for. Add sequential or wait_free (or, with largest_first, bucketed), or "
      "leave it out.");
}

/// The exchanges to choose from; bucket sizes apply only to `bucketed` with all-reduces.
std::vector<model::Exchange> find_exchanges(const PlanOptions& options,
                                            const TrainingValues& values,
                                            std::vector<std::string>& notes) {
  const std::vector<Synchronisation> synchronisations = find_synchronisations(values);
  const bool all_reduce = has(synchronisations, Synchronisation::all_reduce);
  const bool server = has(synchronisations, Synchronisation::parameter_server);
  const std::vector<Schedule> schedules = chosen_schedules(values, all_reduce);
  const bool bucketed = std::ranges::find(schedules, Schedule::bucketed) != schedules.end();
  if (!options.buckets.empty() && !(bucketed && all_reduce)) {
    throw ConfigError(
        "--buckets changes nothing here: it is a setting of --schedules bucketed with all-reduces. "
        "Ask for that, or leave it out.");
  }
  std::vector<model::Exchange> exchanges;
  for (const Schedule schedule : schedules) {
    if (!all_reduce) continue;
    if (schedule == Schedule::bucketed && !options.buckets.empty()) {
      add_buckets(options, exchanges);
    } else {
      exchanges.push_back({.schedule = schedule});
    }
  }
  if (server) add_servers(values, schedules, exchanges, notes);
  return exchanges;
}

/// Refuses implausible values, whose products would overflow.
void refuse_beyond(std::string_view option, double value, double least, double most) {
  if (value == 0 || (value >= least && value <= most)) return;
  throw ConfigError(
      fmt::format("{} is {:g}, which is beyond any training. Write a number from {:g} to {:g}.",
                  option, value, least, most));
}

model::TrainingLength known_length(const PlanOptions& options, const std::string& network) {
  const model::TrainingTarget& target = find_target(options.target, network);
  return {target.convergence.least_epochs, target.samples, target.convergence.critical_batch};
}

model::TrainingLength find_length(const PlanOptions& options, const std::string& network) {
  refuse_beyond("--epochs", options.epochs, 1e-3, 1e6);
  refuse_beyond("--samples", options.samples, 1, 1e15);
  refuse_beyond("--critical-batch", options.critical_batch, 1, 1e12);
  const bool told = options.epochs > 0;
  const int ways = static_cast<int>(told) + static_cast<int>(!options.target.empty()) +
                   static_cast<int>(!options.epochs_at.empty());
  if (ways != 1) {
    throw ConfigError(fmt::format(
        "{} says how long training takes. Write one of: --epochs N (with --samples N for "
        "other data than ImageNet), --epochs-at BATCH=EPOCHS,BATCH=EPOCHS as measured, "
        "--target NAME of {}.",
        ways == 0 ? "no option" : "more than one option", known_targets()));
  }
  if (!options.epochs_at.empty()) {
    if (options.critical_batch > 0) {
      throw ConfigError("--critical-batch goes with --epochs: --epochs-at says it. Leave it out.");
    }
    const model::Convergence fitted = fitted_epochs(options.epochs_at);
    const double samples = options.samples > 0 ? options.samples : model::imagenet_images;
    return {fitted.least_epochs, samples, fitted.critical_batch};
  }
  if (!told) {
    if (options.samples > 0 || options.critical_batch > 0) {
      throw ConfigError(
          "--samples and --critical-batch go with --epochs, and --target says both. Leave them "
          "out.");
    }
    return known_length(options, network);
  }
  model::TrainingLength length{options.epochs, model::imagenet_images};
  if (options.samples > 0) length.samples = options.samples;
  if (options.critical_batch > 0) length.critical_batch = options.critical_batch;
  return length;
}

/// Describes the numbers of ranks: "8 ranks", or "3 numbers of ranks".
std::string counted_ranks(const std::vector<int>& counts) {
  return counts.size() == 1
             ? fmt::format("{} rank{}", counts.front(), counts.front() == 1 ? "" : "s")
             : fmt::format("{} numbers of ranks", counts.size());
}

/// Keeps the ranks that get a whole number of images within their limit, and makes these numbers
/// the batches.
void share_out(std::int64_t global_batch, model::PlanQuestion& question) {
  model::PlanSpace& space = question.space;
  std::vector<int> ranks;
  std::vector<int> uneven;
  std::vector<int> too_few;
  for (const int count : space.ranks) {
    if (global_batch / count > most_images_per_rank) {
      too_few.push_back(count);
    } else {
      (global_batch % count == 0 ? ranks : uneven).push_back(count);
    }
  }
  if (ranks.empty() && uneven.empty()) {
    throw ConfigError(
        fmt::format("--global-batch {} is at least {} images for each rank, and a rank takes {} at "
                    "most. Take more "
                    "ranks, or fewer images.",
                    global_batch, global_batch / space.ranks.back(), most_images_per_rank));
  }
  if (ranks.empty()) {
    throw ConfigError(fmt::format(
        "--global-batch {} cannot be shared equally by any of the numbers of ranks. Take "
        "a multiple of one.",
        global_batch));
  }
  if (!uneven.empty()) {
    question.notes.push_back(fmt::format("left out: {} that cannot share {} images equally",
                                         counted_ranks(uneven), global_batch));
  }
  if (!too_few.empty()) {
    question.notes.push_back(
        fmt::format("left out: {}, with more than {} of {} images for each rank",
                    counted_ranks(too_few), most_images_per_rank, global_batch));
  }
  space.ranks = ranks;
  for (const int count : ranks) space.batches.push_back(share_of(global_batch, count));
  std::ranges::sort(space.batches);
}

using Names = std::vector<std::string>;

/// Adds an option with a list of words, each of which `parse` reads.
template <class Enum>
CLI::Option* add_words(CLI::App& verb, const std::string& names,
                       std::optional<std::vector<Enum>>& values, Enum (*parse)(std::string_view),
                       const char* doc) {
  const auto set = [&values, parse, name = names.substr(0, names.find(','))](const Names& words) {
    values = parse_words(name, words, parse);
  };
  return verb.add_option_function<Names>(names, set, doc)->delimiter(',');
}

}  // namespace

std::vector<Schedule> usual_schedules(bool all_reduce) {
  if (!all_reduce) return {Schedule::sequential, Schedule::wait_free, Schedule::bucketed};
  return {Schedule::sequential, Schedule::wait_free, Schedule::bucketed, Schedule::merged_greedy,
          Schedule::merged};
}

void PlanOptions::declare(CLI::App& verb, TrainingValues& values) {
  verb.add_option("--ranks", ranks,
                  "Numbers of workers to choose from: 8,16,32, or a sweep such as 8..64:+8")
      ->delimiter(',')
      ->type_name("SWEEP")
      ->check(count_sweep());
  verb.add_option("--max-ranks,--gpus", max_ranks,
                  "All numbers of workers up to this (default: as many as the cluster has)")
      ->type_name("SWEEP")
      ->check(count_sweep());
  verb.add_option("--batch", batches, "Images per rank to choose from: a list or a sweep")
      ->delimiter(',')
      ->type_name("SWEEP")
      ->check(count_sweep())
      ->capture_default_str();
  global_batch.declare(verb);
  add_words(verb, "--schedules,--schedule", values.schedules, parse_schedule,
            "Schedules to choose from (default: all with a closed form)")
      ->type_name(one_of(all_schedules, schedule_name));
  verb.add_option("--buckets", buckets,
                  "bucketed: sizes of buckets to choose from, 4MiB,25MiB or 1MiB..64MiB:x2 "
                  "(default: 25 MiB)")
      ->type_name("SIZE")
      ->delimiter(',');
  add_words(verb, "--synchronisation", values.synchronisations, parse_synchronisation,
            "Ways for ranks to get the same parameters; parameter_server goes with "
            "sequential, wait_free and bucketed")
      ->type_name(one_of(all_synchronisations, synchronisation_name))
      ->default_str("all_reduce");
  verb.add_option_function<Names>(
          "--servers", [&values](const Names& names) { values.servers = parse_servers(names); },
          "Numbers of ranks that own parameters, 1,2,all or a sweep such as 1..16:x2 "
          "(default: all)")
      ->delimiter(',')
      ->type_name("SWEEP");
  add_words(verb, "--sharding", values.shardings, parse_sharding,
            "Rules by which servers own parameters; only largest_first goes with bucketed "
            "(default: largest_first)")
      ->type_name(one_of(all_shardings, sharding_name));
  add_words(verb, "--transport", values.transports, parse_transport,
            "Ways in which ranks reach servers (default: collectives)")
      ->type_name(one_of(all_transports, transport_name));
  add_words(verb, "--server-clients", values.callers, parse_callers,
            "Processes that call servers with grpc and grpc_rdma (default: ranks)")
      ->type_name(one_of(all_callers, callers_name));
  verb.add_option("--epochs", epochs, "Epochs that training takes")->check(positive());
  verb.add_option("--samples", samples, "Images per epoch (default: 1281167, those of ImageNet)")
      ->check(positive());
  verb.add_option("--critical-batch", critical_batch,
                  "Global batch C at which training takes twice --epochs: E (1 + B / C) (default: "
                  "the epochs do not depend on the batch)")
      ->check(positive());
  verb.add_option("--epochs-at", epochs_at,
                  "Epochs by a fit of E (1 + B / C) to those that some global batches took, such "
                  "as 8192=64,32768=90")
      ->type_name("BATCH=EPOCHS")
      ->delimiter(',');
  verb.add_option("--target", target, fmt::format("Epochs to a target: {}", known_targets()))
      ->type_name("NAME");
  verb.add_option("--time-limit", time_limit, "Longest time to train, such as \"24 h\"")
      ->type_name("TIME");
  verb.add_option("--cost-per-gpu-hour", price, "Cost of one device for an hour")
      ->check(positive());
  verb.add_option("--budget", budget, "Highest cost, in the same currency")->check(positive());
  verb.add_option("--max-global-batch", max_global_batch,
                  "Most images of an iteration on all ranks")
      ->type_name("N")
      ->excludes(verb.get_option("--global-batch"));
  verb.add_option("--objective", objective, "What is best; energy: of parallel plans alone")
      ->type_name("{time,cost,efficiency,energy}")
      ->capture_default_str();
  verb.add_option("--simulate-top", check, "Number of the best plans that are simulated, too")
      ->check(positive_count())
      ->capture_default_str();
}

model::PlanLimits PlanOptions::limits() const {
  refuse_beyond("--cost-per-gpu-hour", price, 1e-6, 1e9);
  model::PlanLimits found;
  if (!time_limit.empty()) {
    found.time = parse_quantity<Seconds>(time_limit, "--time-limit");
    if (*found.time <= Seconds()) {
      throw ConfigError(fmt::format(
          "--time-limit is {} (no training ends in that); expected, for example, \"24 h\".",
          time_limit));
    }
  }
  if (budget > 0 && price <= 0) {
    throw ConfigError(
        "--budget needs --cost-per-gpu-hour, from which the cost of a plan follows. Add it.");
  }
  if (budget > 0) found.budget = budget;
  if (!max_global_batch.empty()) {
    found.global_batch =
        static_cast<double>(counted_images("--max-global-batch", max_global_batch));
  }
  return found;
}

model::PlanQuestion PlanOptions::question(const TrainingValues& values, const std::string& network,
                                          int workers) const {
  constexpr int most_checked = 100;
  if (check > most_checked) {
    throw ConfigError(
        fmt::format("--simulate-top is {} (the limit is {}). Name fewer.", check, most_checked));
  }
  model::PlanQuestion question;
  question.length = find_length(*this, network);
  question.limits = limits();
  question.objective = model::parse_objective(objective);
  if (price > 0) question.price = price;
  question.checked = static_cast<std::size_t>(check);
  question.space = {find_ranks(*this, workers), {}, find_exchanges(*this, values, question.notes)};
  question.most_ranks = question.space.ranks.back();
  question.cluster_ranks = workers;
  question.space.global_batch = global_batch.find();
  if (question.space.global_batch) {
    share_out(*question.space.global_batch, question);
  } else {
    question.space.batches = ascending(swept_counts("--batch", batches));
  }
  return question;
}

}  // namespace dlscale::app
