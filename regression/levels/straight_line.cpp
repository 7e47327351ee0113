#include "regression/levels/straight_line.hpp"

#include <algorithm>
#include <limits>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::regression {
namespace {

/// The level of the first points, and the slope from there on.
StraightLine ramp_from(std::span<const double> x, std::size_t start, double limit) {
  const double centre = median(x.first(start));
  double level = 0;
  for (const double value : x.first(start)) level += std::clamp(value - centre, -limit, limit);
  level = centre + level / static_cast<double>(start);
  const std::span<const double> rest = x.subspan(start);
  // The middle of the points on the ramp, then one clipped step.
  double slope = 2 * (median(rest) - level) / static_cast<double>(rest.size() + 1);
  double products = 0;
  double squares = 0;
  for (std::size_t i = 0; i < rest.size(); ++i) {
    const auto night = static_cast<double>(i + 1);
    products += night * std::clamp(rest[i] - level - slope * night, -limit, limit);
    squares += night * night;
  }
  slope += products / squares;
  return {level, slope};
}

}  // namespace

StraightLine resistant_line(std::span<const double> x) {
  EXPECT(x.size() >= least_of_resistant_line);
  const std::size_t third = x.size() / 3;
  const double apart = static_cast<double>(x.size() - third);
  StraightLine line;
  line.slope = (median(x.last(third)) - median(x.first(third))) / apart;
  std::vector<double> left;
  left.reserve(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) left.push_back(x[i] - line.at(i));
  line.start = median(left);
  return line;
}

double squares_of_places(std::size_t n) {
  const auto points = static_cast<double>(n);
  return points * (points * points - 1) / 12;
}

StraightLine clipped_line(std::span<const double> x, const StraightLine& line, double limit) {
  const auto n = static_cast<double>(x.size());
  const double middle = (n - 1) / 2;
  double sum = 0;
  double products = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double residual = std::clamp(x[i] - line.at(i), -limit, limit);
    sum += residual;
    products += (static_cast<double>(i) - middle) * residual;
  }
  const double turn = products / squares_of_places(x.size());
  return {line.start + sum / n - turn * middle, line.slope + turn};
}

double clipped_loss(std::span<const double> x, const StraightLine& line, double limit) {
  double loss = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double residual = std::clamp(x[i] - line.at(i), -limit, limit);
    loss += residual * residual;
  }
  return loss;
}

double loss_of_ramp(std::span<const double> x, double limit) {
  constexpr std::size_t least = 5;
  double best = std::numeric_limits<double>::infinity();
  for (std::size_t start = 1; start + least <= x.size(); ++start) {
    const StraightLine ramp = ramp_from(x, start, limit);
    const StraightLine rest{ramp.start + ramp.slope, ramp.slope};
    best = std::min(best, clipped_loss(x.first(start), {ramp.start, 0}, limit) +
                              clipped_loss(x.subspan(start), rest, limit));
  }
  return best;
}

}  // namespace dlscale::regression
