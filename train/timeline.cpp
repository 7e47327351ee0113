#include "train/timeline.hpp"

#include <cstddef>

namespace dlscale::train {

void Timeline::add(Span::Lane lane, std::string name, std::string what, Instant start, Instant end,
                   double bytes) {
  spans_.push_back({.lane = lane,
                    .name = std::move(name),
                    .what = std::move(what),
                    .start = elapsed(origin_, start),
                    .duration = elapsed(start, end),
                    .bytes = bytes});
}

void Timeline::add(const Batch& batch) {
  for (std::size_t i = 0; i < batch.times.size(); ++i) {
    const std::string name =
        i < batch.picks.size() ? "picture " + std::to_string(batch.picks[i].picture) : "picture";
    add(Span::Lane::loader, name, "load", batch.times[i].started, batch.times[i].ended);
  }
}

}  // namespace dlscale::train
