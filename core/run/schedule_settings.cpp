#include "core/run/schedule_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale {
namespace {

int whole_number(std::string_view text, std::string_view where) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1) return value;
  throw ConfigError(
      fmt::format("{} is \"{}\" (no whole number from 1 up). Write, for example, 2.", where, text));
}

/// Throws unless a given setting has an effect.
void expect_effect(std::string_view option, std::string_view text, bool has_effect,
                   std::string_view where_it_has) {
  if (text.empty() || has_effect) return;
  throw ConfigError(
      fmt::format("{} changes nothing here: it is a setting of {}. Ask for that, or leave it out.",
                  option, where_it_has));
}

bool contains(std::span<const Schedule> schedules, Schedule schedule) {
  return std::ranges::find(schedules, schedule) != schedules.end();
}

}  // namespace

void apply(const ScheduleOptions& options, std::span<const Schedule> schedules, Run& run) {
  if (!options.synchronisation.empty()) {
    run.synchronisation = parse_synchronisation(options.synchronisation);
  }
  const bool horovod = contains(schedules, Schedule::horovod);
  const bool priority = contains(schedules, Schedule::priority);
  const bool server = run.synchronisation == Synchronisation::parameter_server;
  expect_effect("--cycle", options.cycle, horovod, "--schedule horovod");
  expect_effect("--fusion-threshold", options.fusion_threshold, horovod, "--schedule horovod");
  const bool buckets = std::ranges::any_of(schedules, has_buckets);
  constexpr std::string_view of_buckets = "--schedule bucketed and reduce_scatter_overlap";
  expect_effect("--bucket", options.bucket, buckets, of_buckets);
  expect_effect("--first-bucket", options.first_bucket, buckets, of_buckets);
  expect_effect("--partition", options.partition, priority, "--schedule priority");
  expect_effect("--credit", options.credit, priority, "--schedule priority");
  expect_effect("--servers", options.servers, server, "--synchronisation parameter_server");
  expect_effect("--sharding", options.sharding, server, "--synchronisation parameter_server");
  expect_effect("--transport", options.transport, server, "--synchronisation parameter_server");
  ScheduleSettings& settings = run.settings;
  if (!options.transport.empty()) settings.transport = parse_transport(options.transport);
  expect_effect("--callers", options.callers,
                server && settings.transport != Transport::collectives,
                "--transport grpc and grpc_rdma of a parameter server");
  if (!options.callers.empty()) settings.callers = parse_callers(options.callers);
  if (!options.cycle.empty()) settings.cycle = parse_quantity<Seconds>(options.cycle, "--cycle");
  if (!options.fusion_threshold.empty()) {
    settings.fusion_threshold =
        parse_quantity<Bytes>(options.fusion_threshold, "--fusion-threshold");
  }
  if (!options.bucket.empty()) {
    settings.bucket = parse_quantity<Bytes>(options.bucket, "--bucket");
    settings.first_bucket = settings.bucket;
  }
  if (!options.first_bucket.empty()) {
    settings.first_bucket = parse_quantity<Bytes>(options.first_bucket, "--first-bucket");
  }
  if (!options.partition.empty()) {
    settings.partition = parse_quantity<Bytes>(options.partition, "--partition");
  }
  if (!options.credit.empty()) settings.credit = whole_number(options.credit, "--credit");
  if (!options.servers.empty()) {
    settings.servers = options.servers == "all" ? 0 : whole_number(options.servers, "--servers");
  }
  if (!options.sharding.empty()) settings.sharding = parse_sharding(options.sharding);
}

std::map<std::string, std::string> schedule_axes(const Run& run) {
  std::map<std::string, std::string> axes{{"schedule", std::string(schedule_name(run.schedule))}};
  const ScheduleSettings& settings = run.settings;
  if (run.schedule == Schedule::horovod) {
    axes["cycle"] = fmt::format("{} s", settings.cycle.si());
    axes["fusion_threshold"] = fmt::format("{} B", settings.fusion_threshold.si());
  }
  if (run.schedule == Schedule::priority) {
    axes["partition"] = fmt::format("{} B", settings.partition.si());
    axes["credit"] = fmt::format("{}", settings.credit);
  }
  if (run.synchronisation != Synchronisation::all_reduce) {
    axes["synchronisation"] = synchronisation_name(run.synchronisation);
    axes["servers"] = fmt::format("{}", server_count(run));
    if (settings.sharding != ScheduleSettings{}.sharding) {
      axes["sharding"] = sharding_name(settings.sharding);
    }
    if (settings.transport != ScheduleSettings{}.transport) {
      axes["transport"] = transport_name(settings.transport);
    }
    if (settings.callers != ScheduleSettings{}.callers) {
      axes["callers"] = callers_name(settings.callers);
    }
  }
  return axes;
}

void read_schedule_axes(const std::map<std::string, std::string>& axes, Run& run) {
  const auto text = [&axes](const char* name) {
    const auto found = axes.find(name);
    return found == axes.end() ? std::string() : found->second;
  };
  if (const std::string name = text("schedule"); !name.empty()) {
    run.schedule = parse_schedule(name);
  }
  apply({.synchronisation = text("synchronisation"),
         .cycle = text("cycle"),
         .fusion_threshold = text("fusion_threshold"),
         .partition = text("partition"),
         .credit = text("credit"),
         .servers = text("servers"),
         .sharding = text("sharding"),
         .transport = text("transport"),
         .callers = text("callers")},
        std::span(&run.schedule, 1), run);
}

void check_launch(Launch launch, Schedule schedule) {
  if (launch == Launch::eager || !overlaps_next_forward(schedule)) return;
  throw ConfigError(
      fmt::format("a graph runs forward as a whole, but under {} each layer waits for its own "
                  "gradients. Take --launch eager.",
                  schedule_name(schedule)));
}

}  // namespace dlscale
