#include "core/results/usable_rows.hpp"

#include <string>

namespace dlscale {

bool is_timed(const Measurement& measurement) {
  if (measurement.axes.contains(std::string(extra_work_axis))) return false;
  return measurement.status == Status::ok || measurement.status == Status::unstable;
}

bool has_normal_values(const Measurement& measurement) {
  const auto values = measurement.axes.find("values");
  return values == measurement.axes.end() || values->second == normal_values;
}

namespace {

constexpr std::string_view in_place_axis = "in_place";

bool is_of_blocks(std::string_view collective) {
  return collective == "all_gather" || collective == "reduce_scatter" || collective == "all_to_all";
}

/// Accepts messages alone or concurrent with work.
bool is_message_of_training(const Measurement& measurement) {
  if (!measurement.axes.contains("bytes")) return false;   // a barrier
  if (measurement.axes.contains("message")) return false;  // of a replay of 0.1.0
  const auto collective = measurement.axes.find("collective");
  const std::string name = collective == measurement.axes.end() ? "" : collective->second;
  for (const MessageAxis& known : message_axes) {
    const auto axis = measurement.axes.find(std::string(known.name));
    if (axis == measurement.axes.end()) continue;
    if (axis->second != in_training(known, name)) return false;
  }
  return true;
}

}  // namespace

std::string_view in_training(const MessageAxis& axis, std::string_view collective) {
  return axis.name == in_place_axis && is_of_blocks(collective) ? "no" : axis.in_training;
}

bool is_in_place_for_want_of_choice(const Measurement& measurement) {
  const auto collective = measurement.axes.find("collective");
  const auto in_place = measurement.axes.find(std::string(in_place_axis));
  if (collective == measurement.axes.end() || in_place == measurement.axes.end()) return false;
  return is_of_blocks(collective->second) && in_place->second == "yes" &&
         !is_of_device_memory(measurement);
}

bool is_sent_as_in_training(const Measurement& measurement) {
  return is_message_of_training(measurement) && !measurement.axes.contains("beside");
}

bool is_sent_beside_work(const Measurement& measurement) {
  return is_message_of_training(measurement) && measurement.axes.contains("beside");
}

bool is_of_device_memory(const Measurement& measurement) {
  const auto memory = measurement.axes.find(std::string(memory_axis));
  return memory != measurement.axes.end() && memory->second == device_memory;
}

}  // namespace dlscale
