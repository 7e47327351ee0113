#include "model/memory/memory_setup.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/error.hpp"

namespace dlscale::model::memory {
namespace {

bool is_gems(const MemorySetup& setup) {
  return setup.schedule == "gems_mast" || setup.schedule == "gems_master";
}

}  // namespace

std::vector<double> layers_of_stages(const MemorySetup& setup, double layers) {
  const auto stages = static_cast<std::size_t>(setup.stages);
  if (setup.stage_layers.empty()) return std::vector<double>(stages, layers / setup.stages);
  const double sum = std::accumulate(setup.stage_layers.begin(), setup.stage_layers.end(), 0.0);
  if (setup.stage_layers.size() != stages || std::abs(sum - layers) > 1e-6 * layers) {
    throw ConfigError(fmt::format(
        "The stages have {:g} layers in {} numbers, and the network has {:g} on {} stages. State "
        "one number for each stage, which together are the network's.",
        sum, setup.stage_layers.size(), layers, setup.stages));
  }
  return setup.stage_layers;
}

double live_layers(const MemorySetup& setup, int stage, double layers) {
  const double micro_batches = setup.micro_batches;
  const double behind = setup.stages - stage - 1;
  if (setup.stages == 1 || setup.schedule == "basic" || is_gems(setup)) return layers;
  if (setup.schedule == "gpipe") return layers * micro_batches;
  if (setup.schedule == "zero_bubble") {
    return layers * std::min(micro_batches, static_cast<double>(setup.stages));
  }
  const bool is_plain = setup.schedule == "interleaved" && setup.chunks == 1;
  if (setup.schedule == "1f1b" || is_plain) {
    return layers * std::min(micro_batches, behind + 1);
  }
  if (setup.schedule == "interleaved") {
    const double chunks = setup.chunks;
    const double warm_up = 2 * behind + (chunks - 1) * setup.stages + 1;
    return layers / chunks * std::min(micro_batches * chunks, warm_up);
  }
  throw ConfigError(fmt::format(
      "No schedule is named \"{}\", so that its activations cannot be counted. Take basic, gpipe, "
      "1f1b, interleaved, zero_bubble, gems_mast or gems_master.",
      setup.schedule));
}

double state_copies(const MemorySetup& setup) {
  return setup.stages > 1 && is_gems(setup) ? 2 : 1;
}

}  // namespace dlscale::model::memory
