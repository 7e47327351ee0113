#include "model/published/memory/predict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "core/base/error.hpp"
#include "model/memory/library_memory.hpp"
#include "model/parallel/time/constants.hpp"

namespace dlscale::model::memory {
namespace {

int stage_of(const MemoryCase& of, const RankMemory& memory) {
  return of.first_rank ? 0 : memory.worst(of.counter).stage;
}

/// A caching allocator gives back what it lost before it fails, so that it never reserves more than
/// the device has beside libraries.
MemoryEstimate within_device(MemoryEstimate peak, const MemoryCase& of) {
  if (of.counter == MemoryCounter::allocated) return peak;
  const LibraryMemory libraries = library_memory(0);
  if (of.device_bytes <= libraries.bytes) return peak;
  const double most = of.device_bytes - libraries.bytes;
  peak.bytes = std::min(peak.bytes, most);
  peak.low = std::min(peak.low, peak.bytes);
  peak.high = std::max(peak.bytes, std::min(peak.high, of.device_bytes - libraries.low));
  return peak;
}

/// An integer wherever one holds the number.
nlohmann::ordered_json whole(double bytes) {
  constexpr double most_exact = 9e15;
  if (bytes < most_exact) return std::llround(bytes);
  return bytes;
}

RankMemory memory_of(const MemoryCase& of, const std::optional<Implementation>& way) {
  try {
    return rank_memory(of.shape, of.setup, way ? *way : usual_way(of.framework));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", of.id, error.what()));
  }
}

}  // namespace

Implementation usual_way(std::string_view framework) {
  return parallel_time::parallel_times().implementation_of(framework);
}

MemoryPrediction predict(const MemoryCase& of, const std::optional<Implementation>& way) {
  const RankMemory memory = memory_of(of, way);
  const int stage = stage_of(of, memory);
  return {.id = of.id,
          .peak = within_device(memory.peak(stage, of.counter), of),
          .verdict = fits(memory, of.device_bytes),
          .state_bytes = memory.update_bytes(stage)};
}

std::vector<MemoryPrediction> predict(std::span<const MemoryCase> cases,
                                      const std::optional<Implementation>& way) {
  std::vector<MemoryPrediction> all;
  all.reserve(cases.size());
  for (const MemoryCase& each : cases) all.push_back(predict(each, way));
  return all;
}

std::string prediction_lines(std::span<const MemoryPrediction> predictions) {
  std::string lines;
  for (const MemoryPrediction& each : predictions) {
    const nlohmann::ordered_json line = {{"id", each.id},
                                         {"peak_memory_bytes", whole(each.peak.bytes)},
                                         {"low", whole(each.peak.low)},
                                         {"high", whole(each.peak.high)},
                                         {"fits", each.verdict.fits},
                                         {"state_memory_bytes", whole(each.state_bytes)}};
    lines += line.dump() + "\n";
  }
  return lines;
}

}  // namespace dlscale::model::memory
