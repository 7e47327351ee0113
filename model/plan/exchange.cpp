#include "model/plan/exchange.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/bucket_limits.hpp"
#include "core/error.hpp"
#include "core/quantity_text.hpp"

namespace dlscale::model {
void apply(const Exchange& exchange, Run& run) {
  run.schedule = exchange.schedule;
  run.synchronisation = exchange.synchronisation;
  run.settings.servers = exchange.servers;
  run.settings.sharding = exchange.sharding;
  if (!exchange.bucket) return;
  const auto [first, others] = bucket_limits(exchange, run.settings);
  run.settings.first_bucket = first;
  run.settings.bucket = others;
}

bool goes_with_ranks(const Exchange& exchange, int ranks) {
  return ranks == 1 || exchange.servers <= ranks;
}

std::string exchange_text(const Exchange& exchange) {
  std::string text(schedule_name(exchange.schedule));
  if (exchange.bucket) text += " at " + to_text(*exchange.bucket);
  if (!exchange.by_server()) return text;
  if (exchange.servers == 0) {
    text += " by servers on all ranks";
  } else {
    text += fmt::format(" by {} server{}", exchange.servers, exchange.servers == 1 ? "" : "s");
  }
  if (exchange.sharding == Sharding::largest_first) return text;
  return text + fmt::format(" ({})", sharding_name(exchange.sharding));
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
