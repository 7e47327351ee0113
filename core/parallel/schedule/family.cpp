#include "core/parallel/schedule/family.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::parallel {

std::string obstacle(const PipelineSchedule& schedule, const PipelineShape& shape) {
  EXPECT(shape.stages >= 1 && shape.chunks >= 1 && shape.micro_batches >= 1);
  const std::int64_t parts = std::int64_t{shape.stages} * shape.chunks;
  if (parts > most_pieces || parts * shape.micro_batches > most_pieces) {
    return fmt::format("takes at most {} parts of micro-batches in an iteration", most_pieces);
  }
  return schedule.own_obstacle(shape);
}

const PipelineSchedule& find_schedule(std::string_view name) {
  const Family<PipelineSchedule> all = family<PipelineSchedule>();
  if (const PipelineSchedule* found = all.find(name)) return *found;
  std::vector<std::string> names;
  for (const PipelineSchedule* schedule : all.members) names.emplace_back(schedule->name);
  throw ConfigError(fmt::format("\"{}\" is not a schedule of pipelines. {}",
                                escape_for_terminal(name), suggestion(name, names)));
}

}  // namespace dlscale::parallel
