#include "model/parallel/stages/strips.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "model/parallel/stages/image_sides.hpp"
#include "model/parallel/stages/stage_links.hpp"

namespace dlscale::model {
namespace {

/// Neighbours of most strips.
int neighbours_of(int strips) {
  return strips > 2 ? 2 : 1;
}

/// Refuses more strips than some map has rows, since a rank would have none of it.
void check_rows(const Network& network, int strips) {
  const Layer* smallest = nullptr;
  const auto rows_of = [](const Layer& layer) { return layer.input_shapes.front().height; };
  for (const Layer& layer : network.layers()) {
    if (layer.input_shapes.empty() || rows_beside(layer) == 0) continue;
    if (smallest == nullptr || rows_of(layer) < rows_of(*smallest)) smallest = &layer;
  }
  if (smallest == nullptr || rows_of(*smallest) >= strips) return;
  throw ConfigError(fmt::format(
      "context {} cuts images into as many strips, and layer \"{}\" of {} reads maps of "
      "{} rows. Take at most {}.",
      strips, smallest->name, network.name(), rows_of(*smallest), rows_of(*smallest)));
}

}  // namespace

Network strip_of(const Network& network, int strips) {
  EXPECT(strips >= 1);
  if (strips == 1) return network;
  if (network.is_over_sequences()) {
    throw ConfigError(fmt::format(
        "the plan has context, and {} is predicted by its layers, of which context cuts "
        "images alone. Leave it out, or take a transformer of equal layers.",
        network.name()));
  }
  check_rows(network, strips);
  const int rows = (network.input().height + strips - 1) / strips;
  return with_size(network, rows, network.input().width);
}

std::vector<Seconds> strip_messages(const Network& strip, const Machine& machine, const Run& run,
                                    const parallel::ParallelPlan& plan) {
  std::vector<Seconds> times(strip.layers().size());
  if (plan.context == 1) return times;
  const StageLink link = strip_link(machine, run, plan);
  const auto element = static_cast<double>(element_bytes(run.dtype));
  for (const Layer& layer : strip.layers()) {
    const int rows = layer.input_shapes.empty() ? 0 : rows_beside(layer);
    if (rows == 0) continue;
    const ImageShape input = layer.input_shapes.front();
    const double elements = static_cast<double>(rows) * input.width * input.channels;
    const Bytes message(neighbours_of(plan.context) * elements * run.batch * element);
    times[layer.id.index()] = link.time(message);
  }
  return times;
}

std::vector<double> kept_with_neighbours(const Network& strip, int strips) {
  std::vector<double> shares;
  for (const Layer& layer : strip.layers()) {
    const bool is_map = layer.output.height > 1 || layer.output.width > 1;
    const int beside = is_map ? neighbours_of(strips) * halo_rows(strip, layer.id) : 0;
    shares.push_back(1 + static_cast<double>(beside) / layer.output.height);
  }
  return shares;
}

}  // namespace dlscale::model
