#include "report/comparison/common_change.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "regression/statistics/student_t.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

constexpr double chance = 0.05;  ///< that an interval misses, and that so many do

/// P(X ≥ number) for X binomial(of, chance).
double at_least(std::size_t number, std::size_t of) {
  const auto all = static_cast<double>(of);
  double fewer = 0;
  for (std::size_t i = 0; i < number; ++i) {
    const auto misses = static_cast<double>(i);
    fewer += std::exp(std::lgamma(all + 1) - std::lgamma(misses + 1) -
                      std::lgamma(all - misses + 1) + misses * std::log(chance) +
                      (all - misses) * std::log1p(-chance));
  }
  return 1 - fewer;
}

/// Whether a row may have this ratio, if its interval is widened (as that of a normal distribution
/// is) until one of `of` rows leaves its own in 5 % of cases.
bool may_be(const Comparison& row, double ratio, std::size_t of) {
  const double family = 1 - chance / static_cast<double>(of) / 2;
  constexpr double many = 1e6;  // degrees of freedom: the normal distribution
  const double wider = regression::student_t_quantile(family, many) /
                       regression::student_t_quantile(1 - chance / 2, many);
  const double value = std::log(row.ratio);
  const double distance = std::log(ratio) - value;
  return distance <= wider * (std::log(row.ratio_high) - value) &&
         distance >= wider * (std::log(row.ratio_low) - value);
}

std::vector<const Comparison*> rows_of(const ComparisonReport& report) {
  std::vector<const Comparison*> rows;
  for (const Comparison& row : report.rows) {
    if (row.role == SeriesRole::judged && row.has_interval) rows.push_back(&row);
  }
  const auto is_repeated = [](const Comparison* row) { return row->launches > 1; };
  if (std::ranges::any_of(rows, is_repeated)) std::erase_if(rows, std::not_fn(is_repeated));
  return rows;
}

double median_of(const std::vector<const Comparison*>& rows, double Comparison::*member) {
  std::vector<double> values;
  for (const Comparison* row : rows) values.push_back(row->*member);
  return median(values);
}

}  // namespace

std::optional<CommonChange> common_change(const ComparisonReport& report) {
  constexpr std::size_t least_rows = 4;
  const std::vector<const Comparison*> rows = rows_of(report);
  if (rows.size() < least_rows || !report.place_differences.empty()) return {};
  CommonChange common{median_of(rows, &Comparison::ratio), median_of(rows, &Comparison::ratio_low),
                      median_of(rows, &Comparison::ratio_high), rows.size()};
  for (const Comparison* row : rows) {
    common.explained += row->ratio_low <= common.ratio && common.ratio <= row->ratio_high ? 1 : 0;
  }
  const double limit = 1 + report.margin;
  const bool is_outside = common.low > limit || common.high < 1 / limit;
  const bool may_all_be = std::ranges::all_of(
      rows, [&](const Comparison* row) { return may_be(*row, common.ratio, rows.size()); });
  common.explains = is_outside && may_all_be &&
                    at_least(rows.size() - common.explained, rows.size()) > chance;
  return common;
}

std::string common_sentence(const CommonChange& common) {
  return fmt::format("one change of {} (95 % interval {}) explains {} of {}, as a {} machine would",
                     signed_percent(common.ratio - 1), changes_from_to(common.low, common.high),
                     common.explained,
                     counted(static_cast<long long>(common.rows), "measurement"),
                     common.ratio > 1 ? "slower" : "faster");
}

}  // namespace dlscale::report
