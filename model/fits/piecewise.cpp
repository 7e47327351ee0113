#include "model/fits/piecewise.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/error.hpp"

namespace dlscale::model {

Estimate<Seconds> Segment::time(double a, Bytes b) const {
  const Seconds value = a * alpha.value + b * beta.value;
  if (!spread) return {value, a * alpha.low + b * beta.low, a * alpha.high + b * beta.high};
  // α is the height at the mean less the slope's part up to there.
  const Seconds of_slope = (b - a * spread->mean) * spread->slope;
  const Seconds half_width(std::hypot(a * spread->at_mean.si(), of_slope.si()));
  return {value, std::max(Seconds(), value - half_width), value + half_width};
}

Piecewise::Piecewise(std::vector<Segment> segments) : segments_(std::move(segments)) {
  if (segments_.empty()) throw ConfigError("a fitted cost has no segment. Calibrate again.");
  for (std::size_t i = 0; i < segments_.size(); ++i) {
    const bool joins = i == 0 || segments_[i - 1].to == segments_[i].from;
    if (segments_[i].from > segments_[i].to || !joins) {
      throw ConfigError(fmt::format(
          "segment {} of a fitted cost, from {:g} to {:g} bytes, does not continue the one "
          "before it. Calibrate again.",
          i, segments_[i].from.si(), segments_[i].to.si()));
    }
  }
}

const Segment& Piecewise::segment(Bytes size) const {
  EXPECT(!segments_.empty());
  const auto found = std::find_if(segments_.begin(), segments_.end(),
                                  [&](const Segment& segment) { return size < segment.to; });
  return found == segments_.end() ? segments_.back() : *found;
}

Estimate<Seconds> Piecewise::time(Bytes size) const {
  return segment(size).time(1, size);
}

bool Piecewise::covers(Bytes size) const {
  return !segments_.empty() && segments_.front().from <= size && size <= segments_.back().to;
}

}  // namespace dlscale::model
