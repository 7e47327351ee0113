#include "model/parallel/stages/strips.hpp"

#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>

#include "core/base/error.hpp"
#include "model/parallel/stages/image_sides.hpp"
#include "model/parallel/stages/stage_links.hpp"

namespace dlscale::model {
namespace {

/// Neighbours of most strips.
int neighbours_of(int strips) {
  return strips > 2 ? 2 : 1;
}

/// The smallest map that a filter of several rows reads, of which each rank needs a row; nullptr if
/// there is none.
const Layer* lowest_map(const Network& network) {
  const Layer* lowest = nullptr;
  const auto rows_of = [](const Layer& layer) { return layer.input_shapes.front().height; };
  for (const Layer& layer : network.layers()) {
    if (layer.input_shapes.empty() || rows_beside(layer) == 0) continue;
    if (lowest == nullptr || rows_of(layer) < rows_of(*lowest)) lowest = &layer;
  }
  return lowest;
}

int rows_of_strip(const Network& network, int strips) {
  return (network.input().height + strips - 1) / strips;
}

/// The network of a strip; nothing where it is too low for some layer.
std::optional<Network> strip_that_runs(const Network& network, int strips) {
  const Layer* lowest = lowest_map(network);
  if (lowest != nullptr && lowest->input_shapes.front().height < strips) return {};
  try {
    return with_size(network, rows_of_strip(network, strips), network.input().width);
  } catch (const ConfigError&) {
    return {};
  }
}

/// Says that strips are too low, and how many can be.
[[noreturn]] void refuse_low_strips(const Network& network, int strips) {
  const Layer* lowest = lowest_map(network);
  const bool is_by_map = lowest != nullptr && lowest->input_shapes.front().height < strips;
  const std::string why =
      is_by_map ? fmt::format("layer \"{}\" of {} reads maps of {} rows", lowest->name,
                              network.name(), lowest->input_shapes.front().height)
                : fmt::format("strips of {} rows are too low for the layers of {}",
                              rows_of_strip(network, strips), network.name());
  int most = is_by_map ? lowest->input_shapes.front().height : strips - 1;
  while (most > 1 && !strip_that_runs(network, most)) --most;
  throw ConfigError(fmt::format(
      "context {} cuts images into as many strips of rows, and {}. {}", strips, why,
      most > 1 ? fmt::format("Take a context of at most {}.", most) : "Leave context out."));
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
  if (const Layer* whole = layer_of_all_pixels(network)) {
    throw ConfigError(fmt::format(
        "context {} cuts images into strips of rows, and layer \"{}\" of {} reads all pixels at "
        "once. Leave context out, or take a network that pools them first.",
        strips, whole->name, network.name()));
  }
  if (auto strip = strip_that_runs(network, strips)) return std::move(*strip);
  refuse_low_strips(network, strips);
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

std::vector<double> kept_with_neighbours(const Network& whole, const Network& strip, int strips) {
  std::vector<double> shares;
  for (const Layer& layer : strip.layers()) {
    const bool is_map = layer.output.height > 1 || layer.output.width > 1;
    const int height = whole.layer(layer.id).output.height;
    shares.push_back(
        is_map ? kept_rows(height, strips, halo_rows(strip, layer.id)) / layer.output.height : 1);
  }
  return shares;
}

}  // namespace dlscale::model
