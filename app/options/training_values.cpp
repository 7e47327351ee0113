#include "app/options/training_values.hpp"

namespace dlscale::app {
namespace {

template <class T>
void lay(const std::optional<T>& above, std::optional<T>& value) {
  if (above) value = above;
}

template <class T>
std::optional<T> first_of(const std::optional<std::vector<T>>& list) {
  return list && !list->empty() ? std::optional(list->front()) : std::nullopt;
}

}  // namespace

TrainingValues overlay(const TrainingValues& below, const TrainingValues& above) {
  TrainingValues values = below;
  lay(above.schedules, values.schedules);
  lay(above.synchronisations, values.synchronisations);
  lay(above.servers, values.servers);
  lay(above.shardings, values.shardings);
  lay(above.transports, values.transports);
  lay(above.callers, values.callers);
  lay(above.cycle, values.cycle);
  lay(above.fusion_threshold, values.fusion_threshold);
  lay(above.bucket, values.bucket);
  lay(above.first_bucket, values.first_bucket);
  lay(above.partition, values.partition);
  lay(above.credit, values.credit);
  lay(above.input_copy, values.input_copy);
  lay(above.launch, values.launch);
  lay(above.all_reduce, values.all_reduce);
  return values;
}

ExchangeValues exchange_of(const TrainingValues& values) {
  return {.synchronisation = first_of(values.synchronisations),
          .cycle = values.cycle,
          .fusion_threshold = values.fusion_threshold,
          .bucket = values.bucket,
          .first_bucket = values.first_bucket,
          .partition = values.partition,
          .credit = values.credit,
          .servers = first_of(values.servers),
          .sharding = first_of(values.shardings),
          .transport = first_of(values.transports),
          .callers = first_of(values.callers)};
}

}  // namespace dlscale::app
