#include "model/parallel/uncertain/measured_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "model/fits/levenberg.hpp"
#include "model/parallel/timeline/part_costs.hpp"

namespace dlscale::model::parallel_time {
namespace {

/// A constant that measured points move, and by how much of its prior's spread.
struct MovedConstant {
  std::string_view key;
  double TimeConstants::*value;
  double freedom;
};
constexpr std::array moved{
    MovedConstant{"launch", &TimeConstants::launch, 1},
    MovedConstant{"host_collective", &TimeConstants::host_collective, 1},
    MovedConstant{"gap", &TimeConstants::gap, 1},
    MovedConstant{"slow_network_start", &TimeConstants::slow_network_start, 1},
    MovedConstant{"network_start", &TimeConstants::network_start, 1},
    MovedConstant{"mixed_queue", &TimeConstants::mixed_queue, 1},
    MovedConstant{"stage_message", &TimeConstants::stage_message, 1},
    MovedConstant{"step_fixed", &TimeConstants::step_fixed, 1},
    MovedConstant{"product", &TimeConstants::product, 0.5},
    MovedConstant{"attention_flash2", &TimeConstants::attention_flash2, 0.5},
    MovedConstant{"loss", &TimeConstants::loss, 0.5},
    MovedConstant{"elementwise", &TimeConstants::elementwise, 0.3},
};
constexpr double noise = 0.06;       ///< of the model at another plan, in logarithms
constexpr double greatest_move = 3;  ///< spreads

/// Constants that lie `move` spreads of their own freedom from those of a setting.
TimeConstants moved_by(const ParallelTimeFile& file, const TimeConstants& from,
                       const std::vector<double>& move) {
  TimeConstants constants = from;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const double spreads = std::clamp(moved[i].freedom * move[i], -greatest_move, greatest_move);
    constants.*moved[i].value *= std::exp(spreads * file.fitted.find(moved[i].key)->second.spread);
  }
  return constants;
}

}  // namespace

Setting with_constants(const Setting& setting, const TimeConstants& constants, const Links& links) {
  return {constants,
          setting.family,
          setting.attention,
          device_rates(setting.rates.facts, setting.rates.precision, constants),
          Collectives(constants, links),
          setting.shape,
          setting.measured_factor};
}

double predicted_seconds(const Setting& setting, const TimeConstants& constants,
                         const MeasuredPoint& point) {
  const Setting changed = with_constants(setting, constants, point.links);
  return (point.simulated ? plan_time(changed, point.plan, *point.simulated)
                          : iteration_time(changed, point.plan))
      .total;
}

TimeConstants by_measured_points(const ParallelTimeFile& file, const Setting& setting,
                                 std::span<const MeasuredPoint> points) {
  const auto residuals = [&](const std::vector<double>& move) {
    const TimeConstants constants = moved_by(file, setting.constants, move);
    std::vector<double> all;
    all.reserve(points.size() + move.size());
    for (const MeasuredPoint& point : points) {
      const double error = std::log(predicted_seconds(setting, constants, point) / point.seconds);
      all.push_back(robust_residual(error / noise, 1));
    }
    all.insert(all.end(), move.begin(), move.end());
    return all;
  };
  return moved_by(file, setting.constants,
                  least_squares(residuals, std::vector<double>(moved.size())));
}

}  // namespace dlscale::model::parallel_time
