#include "core/run/schedule_settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale {
namespace {

/// Throws unless a given value has an effect.
template <class T>
void expect_effect(std::string_view name, const std::optional<T>& value, bool has_effect,
                   std::string_view where_it_has) {
  if (!value || has_effect) return;
  throw ConfigError(
      fmt::format("{} changes nothing here: it is a setting of {}. Ask for that, or leave it out.",
                  name, where_it_has));
}

bool contains(std::span<const Schedule> schedules, Schedule schedule) {
  return std::ranges::find(schedules, schedule) != schedules.end();
}

}  // namespace

int parse_whole_number(std::string_view text, std::string_view where) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= 1) return value;
  throw ConfigError(
      fmt::format("{} is \"{}\" (no whole number from 1 up). Write, for example, 2.", where, text));
}

ExchangeValues read_exchange(const std::map<std::string, std::string>& texts) {
  ExchangeValues values;
  const auto read = [&texts](const char* name, auto& value, auto parse) {
    const auto found = texts.find(name);
    if (found != texts.end() && !found->second.empty()) value = parse(found->second, name);
  };
  const auto word = [](auto parse) {
    return [parse](std::string_view text, std::string_view) { return parse(text); };
  };
  read("synchronisation", values.synchronisation, word(parse_synchronisation));
  read("cycle", values.cycle, parse_quantity<Seconds>);
  read("fusion_threshold", values.fusion_threshold,
       [](std::string_view text, std::string_view name) {
         return text == "0" ? Bytes()
                            : parse_quantity<Bytes>(text, name);  // Horovod's word for none
       });
  read("bucket", values.bucket, parse_quantity<Bytes>);
  read("first_bucket", values.first_bucket, parse_quantity<Bytes>);
  read("partition", values.partition, parse_quantity<Bytes>);
  read("credit", values.credit, parse_whole_number);
  read("servers", values.servers, [](std::string_view text, std::string_view name) {
    return text == "all" ? 0 : parse_whole_number(text, name);
  });
  read("sharding", values.sharding, word(parse_sharding));
  read("transport", values.transport, word(parse_transport));
  read("callers", values.callers, word(parse_callers));
  return values;
}

void apply(const ExchangeValues& values, std::span<const Schedule> schedules, Run& run) {
  run.synchronisation = values.synchronisation.value_or(run.synchronisation);
  const bool horovod = contains(schedules, Schedule::horovod);
  const bool priority = contains(schedules, Schedule::priority);
  const bool server = run.synchronisation == Synchronisation::parameter_server;
  const bool buckets = std::ranges::any_of(schedules, has_buckets);
  ScheduleSettings& settings = run.settings;
  settings.transport = values.transport.value_or(settings.transport);
  const bool calls = server && settings.transport != Transport::collectives;
  constexpr std::string_view of_buckets = "the schedules bucketed and reduce_scatter_overlap";
  constexpr std::string_view of_servers = "the synchronisation parameter_server";
  expect_effect("cycle", values.cycle, horovod, "the schedule horovod");
  expect_effect("fusion_threshold", values.fusion_threshold, horovod, "the schedule horovod");
  expect_effect("bucket", values.bucket, buckets, of_buckets);
  expect_effect("first_bucket", values.first_bucket, buckets, of_buckets);
  expect_effect("partition", values.partition, priority, "the schedule priority");
  expect_effect("credit", values.credit, priority, "the schedule priority");
  expect_effect("servers", values.servers, server, of_servers);
  expect_effect("sharding", values.sharding, server, of_servers);
  expect_effect("transport", values.transport, server, of_servers);
  expect_effect("callers", values.callers, calls,
                "the transports grpc and grpc_rdma of a parameter server");
  settings.callers = values.callers.value_or(settings.callers);
  settings.cycle = values.cycle.value_or(settings.cycle);
  settings.fusion_threshold = values.fusion_threshold.value_or(settings.fusion_threshold);
  settings.first_bucket =
      values.first_bucket.value_or(values.bucket.value_or(settings.first_bucket));
  settings.bucket = values.bucket.value_or(settings.bucket);
  settings.partition = values.partition.value_or(settings.partition);
  settings.credit = values.credit.value_or(settings.credit);
  settings.servers = values.servers.value_or(settings.servers);
  settings.sharding = values.sharding.value_or(settings.sharding);
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
  const auto name = axes.find("schedule");
  if (name != axes.end() && !name->second.empty()) run.schedule = parse_schedule(name->second);
  apply(read_exchange(axes), std::span(&run.schedule, 1), run);
}

void check_launch(Launch launch, Schedule schedule) {
  if (launch == Launch::eager || !overlaps_next_forward(schedule)) return;
  throw ConfigError(
      fmt::format("a graph runs forward as a whole, but under {} each layer waits for its own "
                  "gradients. Launch kernels eagerly.",
                  schedule_name(schedule)));
}

}  // namespace dlscale
