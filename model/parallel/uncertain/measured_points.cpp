#include "model/parallel/uncertain/measured_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include "model/fits/levenberg.hpp"
#include "model/parallel/timeline/part_costs.hpp"
#include "model/parallel/uncertain/point_range.hpp"

namespace dlscale::model::parallel_time {
namespace {

/// A constant that measured points move, and by how much of its prior's spread.
struct MovedConstant {
  std::string_view key;
  double TimeConstants::*value;
  double MeasuredConstants::*freedom;
};
constexpr std::array moved{
    MovedConstant{"launch", &TimeConstants::launch, &MeasuredConstants::host_and_links},
    MovedConstant{"host_collective", &TimeConstants::host_collective,
                  &MeasuredConstants::host_and_links},
    MovedConstant{"gap", &TimeConstants::gap, &MeasuredConstants::host_and_links},
    MovedConstant{"slow_network_start", &TimeConstants::slow_network_start,
                  &MeasuredConstants::host_and_links},
    MovedConstant{"network_start", &TimeConstants::network_start,
                  &MeasuredConstants::host_and_links},
    MovedConstant{"mixed_queue", &TimeConstants::mixed_queue, &MeasuredConstants::host_and_links},
    MovedConstant{"stage_message", &TimeConstants::stage_message,
                  &MeasuredConstants::host_and_links},
    MovedConstant{"step_fixed", &TimeConstants::step_fixed, &MeasuredConstants::host_and_links},
    MovedConstant{"product", &TimeConstants::product, &MeasuredConstants::kernels},
    MovedConstant{"attention_flash2", &TimeConstants::attention_flash2,
                  &MeasuredConstants::kernels},
    MovedConstant{"loss", &TimeConstants::loss, &MeasuredConstants::kernels},
    MovedConstant{"elementwise", &TimeConstants::elementwise, &MeasuredConstants::elementwise},
};

/// Constants that lie `move` spreads of their own freedom from those of a setting.
TimeConstants moved_by(const ParallelTimeFile& file, const TimeConstants& from,
                       const std::vector<double>& move) {
  TimeConstants constants = from;
  const double most = file.measured.greatest_move;
  for (std::size_t i = 0; i < moved.size(); ++i) {
    const double freedom = file.measured.*moved[i].freedom;
    const double spreads = std::clamp(freedom * move[i], -most, most);
    constants.*moved[i].value *= std::exp(spreads * file.fitted.find(moved[i].key)->second.spread);
  }
  return constants;
}

/// Makespans of each point whose pipeline is simulated.
std::vector<std::optional<Makespans>> makespans_of_points(std::span<const MeasuredPoint> points) {
  std::vector<std::optional<Makespans>> makespans;
  for (const MeasuredPoint& point : points) {
    makespans.emplace_back();
    if (is_simulated(point.plan, point.schedule)) {
      makespans.back() = makespans_of(point.plan, point.schedule);
    }
  }
  return makespans;
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
                         const MeasuredPoint& point, const Makespans* makespans) {
  const Setting changed = with_constants(setting, constants, point.links);
  return point.waiting * plan_time(changed, point.plan, point.schedule, makespans).total;
}

TimeConstants by_measured_points(const ParallelTimeFile& file, const Setting& setting,
                                 std::span<const MeasuredPoint> points, double micro_batch) {
  const auto makespans = makespans_of_points(points);
  std::vector<double> noises;
  for (const MeasuredPoint& point : points) {
    noises.push_back(
        noise_at(file.measured, doublings_between(micro_batch, point.plan.micro_batch)));
  }
  const auto residuals = [&](const std::vector<double>& move) {
    const TimeConstants constants = moved_by(file, setting.constants, move);
    std::vector<double> all;
    all.reserve(points.size() + move.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
      const double seconds =
          predicted_seconds(setting, constants, points[i], makespans[i] ? &*makespans[i] : nullptr);
      all.push_back(robust_residual(std::log(seconds / points[i].seconds) / noises[i], 1));
    }
    all.insert(all.end(), move.begin(), move.end());
    return all;
  };
  return moved_by(file, setting.constants,
                  least_squares(residuals, std::vector<double>(moved.size())));
}

}  // namespace dlscale::model::parallel_time
