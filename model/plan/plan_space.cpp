#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "model/plan/exchange.hpp"
#include "model/plan/iteration_grid.hpp"

namespace dlscale::model {

void check(const PlanSpace& space) {
  for (const Exchange& exchange : space.exchanges) {
    EXPECT(!exchange.by_server() || (goes_with_server(exchange.schedule) && !exchange.bucket &&
                                     goes_with_sharding(exchange.schedule, exchange.sharding) &&
                                     goes_with_transport(exchange.transport, exchange.callers)));
  }
  EXPECT(std::ranges::is_sorted(space.ranks) && std::ranges::is_sorted(space.batches));
  if (space.size() == 0) {
    throw ConfigError(
        "there is nothing to choose from (no ranks, batches or schedules). Name at least one of "
        "each.");
  }
  const double wanted = static_cast<double>(space.ranks.size()) *
                        static_cast<double>(space.batches.size()) *
                        static_cast<double>(space.exchanges.size());
  if (wanted > static_cast<double>(most_planned)) {
    throw ConfigError(
        fmt::format("{:.0f} configurations are too many to choose from (the limit is {}). Name "
                    "fewer numbers of ranks, batches, schedules or sizes of buckets.",
                    wanted, most_planned));
  }
}

}  // namespace dlscale::model
