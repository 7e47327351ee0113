#include "model/plan/exchange.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/run/run.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::model {
namespace {

/// The settings of servers that differ from the defaults; empty if none does.
std::string server_text(const Exchange& exchange) {
  std::vector<std::string_view> words;
  if (exchange.sharding != Sharding::largest_first)
    words.push_back(sharding_name(exchange.sharding));
  if (exchange.transport != Transport::collectives) {
    words.push_back(transport_name(exchange.transport));
  }
  std::string text = fmt::format("{}", fmt::join(words, ", "));
  if (exchange.callers != Callers::ranks) {
    text += fmt::format(", callers {}", callers_name(exchange.callers));
  }
  return text.empty() ? text : fmt::format(" ({})", text);
}

}  // namespace

void apply(const Exchange& exchange, Run& run) {
  run.schedule = exchange.schedule;
  run.synchronisation = exchange.synchronisation;
  run.settings.servers = exchange.servers;
  run.settings.sharding = exchange.sharding;
  run.settings.transport = exchange.transport;
  run.settings.callers = exchange.callers;
  if (!exchange.bucket) return;
  const auto [first, others] = bucket_limits(exchange, run.settings);
  run.settings.first_bucket = first;
  run.settings.bucket = others;
}

int servers_on(const Exchange& exchange, const Placement& placement) {
  if (exchange.servers > 0) return exchange.servers;
  return exchange.callers == Callers::ranks ? placement.ranks : placement.nodes();
}

bool goes_with_ranks(const Exchange& exchange, const Placement& placement) {
  const int most = exchange.callers == Callers::ranks ? placement.ranks : placement.nodes();
  return placement.ranks == 1 || exchange.servers <= most;
}

std::string exchange_text(const Exchange& exchange) {
  std::string text(schedule_name(exchange.schedule));
  if (exchange.bucket) text += " at " + to_text(*exchange.bucket);
  if (!exchange.by_server()) return text;
  if (exchange.servers > 0) {
    text += fmt::format(" by {} server{}", exchange.servers, exchange.servers == 1 ? "" : "s");
  } else if (exchange.callers == Callers::ranks) {
    text += " by servers on all ranks";
  } else {
    text += " by a server on each node";
  }
  return text + server_text(exchange);
}

std::optional<Travel> travel_of(const Exchange& exchange) {
  switch (exchange.schedule) {
    case Schedule::sequential:
      return Travel::after_backward;
    case Schedule::wait_free:
    case Schedule::bucketed:
    case Schedule::merged_greedy:
    case Schedule::merged:
      return Travel::beside_backward;
    case Schedule::horovod:
    case Schedule::reduce_scatter_overlap:
    case Schedule::priority:
      return std::nullopt;
  }
  fail_expectation("schedule is a Schedule");
}

BucketLimits bucket_limits(const Exchange& exchange, const ScheduleSettings& settings) {
  if (!exchange.bucket) return {settings.first_bucket, settings.bucket};
  return {std::min(first_bucket_limit, *exchange.bucket), *exchange.bucket};
}

}  // namespace dlscale::model
