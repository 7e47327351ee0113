#include "model/parallel/uncertain/measured_points.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

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
constexpr std::size_t count = moved.size();
using Vector = std::array<double, count>;
using Matrix = std::array<Vector, count>;

constexpr double step = 0.05;         ///< of differences, in spreads
constexpr double noise = 0.06;        ///< of the model at another plan, in logarithms
constexpr double odd_residual = 0.2;  ///< from which a point counts less
constexpr double greatest_move = 3;   ///< spreads
constexpr int passes = 3;

double logarithm(const Setting& setting, const TimeConstants& constants,
                 const MeasuredPoint& point) {
  return std::log(predicted_seconds(setting, constants, point));
}

struct Row {
  Vector slope;
  double residual;
};

Row row_of(const ParallelTimeFile& file, const Setting& setting, const MeasuredPoint& point) {
  const double predicted = logarithm(setting, setting.constants, point);
  Row row{{}, std::log(point.seconds) - predicted};
  for (std::size_t i = 0; i < count; ++i) {
    TimeConstants other = setting.constants;
    other.*moved[i].value *= std::exp(step * file.fitted.find(moved[i].key)->second.spread);
    row.slope[i] = (logarithm(setting, other, point) - predicted) / step;
  }
  return row;
}

/// Solves a symmetric, positive definite system by elimination.
Vector solved(Matrix matrix, Vector right) {
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = i + 1; j < count; ++j) {
      const double factor = matrix[j][i] / matrix[i][i];
      for (std::size_t k = i; k < count; ++k) matrix[j][k] -= factor * matrix[i][k];
      right[j] -= factor * right[i];
    }
  }
  for (std::size_t i = count; i-- > 0;) {
    for (std::size_t k = i + 1; k < count; ++k) right[i] -= matrix[i][k] * right[k];
    right[i] /= matrix[i][i];
  }
  return right;
}

double dot(const Vector& one, const Vector& other) {
  double sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += one[i] * other[i];
  return sum;
}

Vector updated(const std::vector<Row>& rows, const Vector& move) {
  Matrix matrix{};
  Vector right{};
  for (std::size_t i = 0; i < count; ++i) matrix[i][i] = 1 / (moved[i].freedom * moved[i].freedom);
  for (const Row& row : rows) {
    const double left = (row.residual - dot(row.slope, move)) / odd_residual;
    const double weight = 1 / (noise * noise * (1 + left * left));
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < count; ++j) {
        matrix[i][j] += weight * row.slope[i] * row.slope[j];
      }
      right[i] += weight * row.slope[i] * row.residual;
    }
  }
  return solved(matrix, right);
}

}  // namespace

Setting with_constants(const Setting& setting, const TimeConstants& constants, const Links& links) {
  return {constants,
          setting.family,
          setting.attention,
          device_rates(setting.rates.facts, setting.rates.precision, constants),
          Collectives(constants, links),
          setting.shape};
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
  std::vector<Row> rows;
  rows.reserve(points.size());
  for (const MeasuredPoint& point : points) rows.push_back(row_of(file, setting, point));
  Vector move{};
  for (int pass = 0; pass < passes; ++pass) move = updated(rows, move);
  TimeConstants constants = setting.constants;
  for (std::size_t i = 0; i < count; ++i) {
    constants.*moved[i].value *= std::exp(std::clamp(move[i], -greatest_move, greatest_move) *
                                          file.fitted.find(moved[i].key)->second.spread);
  }
  return constants;
}

}  // namespace dlscale::model::parallel_time
