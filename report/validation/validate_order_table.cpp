#include "report/validation/validate_order_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "report/table/run_words.hpp"

namespace dlscale::report {
namespace {

std::string two_decimals(const Json& value) {
  return value.is_null() ? "–" : fmt::format("{:.2f}", value.get<double>());
}

/// "alexnet, batch 32, f32, 2 ranks on 2 hosts, links of 1Gb/s by tc tbf": description of a
/// training.
std::string training_text(const RunValidation& validated) {
  const Run& run = validated.run;
  const int hosts = (run.ranks + run.ranks_per_node - 1) / run.ranks_per_node;
  return fmt::format("{}, batch {}, {}, {} on {}{}{}", run.network, run.batch,
                     dtype_name(run.dtype), counted(run.ranks, "rank"), counted(hosts, "host"),
                     validated.links.empty() ? "" : ", ", validated.links);
}

/// Sums over all orders of a validation.
struct Together {
  std::vector<double> correlations;
  int pairs_apart = 0;
  int pairs_right = 0;
  double most_lost = 0;
};

Together together(const Validation& validation) {
  Together all;
  for (const ScheduleOrder& order : validation.orders) {
    if (order.correlation) all.correlations.push_back(*order.correlation);
    all.pairs_apart += order.pairs_apart;
    all.pairs_right += order.pairs_right;
    all.most_lost = std::max(all.most_lost, order.loss);
  }
  return all;
}

std::string order_limit_clause(const Validation& validation, const Limits& limits) {
  if (!limits.order) return "";
  int missed = 0;
  int judged = 0;
  for (const ScheduleOrder& order : validation.orders) {
    const auto passed = passes(order, limits);
    if (!passed) continue;
    ++judged;
    if (!*passed) ++missed;
  }
  if (judged == 0) {
    return fmt::format(
        " No order of schedules could be judged by the limit of {:.2f}: of no training on several "
        "ranks two schedules were measured that are apart.",
        *limits.order);
  }
  return fmt::format(" The limit of {:.2f} is {}.", *limits.order,
                     missed == 0 ? "kept" : fmt::format("missed by {} of {}", missed, judged));
}

}  // namespace

const RunValidation& ordered_run(const Validation& validation, const ScheduleOrder& order,
                                 std::size_t place) {
  return validation.runs.at(order.runs.at(place));
}

Fields<ScheduleOrder> order_fields(const Validation& validation, const Limits& limits) {
  using F = Field<ScheduleOrder>;
  using enum Meaning;
  constexpr Look decimals{two_decimals};
  const auto training = [&validation](const ScheduleOrder& order) {
    return training_text(ordered_run(validation, order, 0));
  };
  const auto run_at = [](std::size_t ScheduleOrder::*place) {
    return [place](const ScheduleOrder& order) { return order.runs.at(order.*place); };
  };
  const auto schedule_at = [&validation](std::size_t ScheduleOrder::*place) {
    return [&validation, place](const ScheduleOrder& order) {
      return schedule_text(ordered_run(validation, order, order.*place).run);
    };
  };
  const auto passed = [limits](const ScheduleOrder& order) { return passes(order, limits); };
  const auto verdict = [passed](const ScheduleOrder& order) {
    const auto its = passed(order);
    return its ? kept_cell(its) : Cell{"not judged"};
  };
  return {
      F::table("training", training, as::words),
      {"runs", key, &ScheduleOrder::runs, "schedules",
       [](const ScheduleOrder& order) { return std::to_string(order.runs.size()); }},
      {"measured_ranks", value, &ScheduleOrder::measured_ranks},
      {"predicted_ranks", value, &ScheduleOrder::predicted_ranks},
      {"rank_correlation", value, &ScheduleOrder::correlation, "rank correlation", decimals},
      {"pairs_apart", value, &ScheduleOrder::pairs_apart, "pairs apart", as::exact},
      {"pairs_right", value, &ScheduleOrder::pairs_right, "predicted so", as::exact},
      {"fastest_measured", remark, run_at(&ScheduleOrder::fastest_measured), "fastest measured",
       schedule_at(&ScheduleOrder::fastest_measured), Align::left},
      {"fastest_predicted", remark, run_at(&ScheduleOrder::fastest_predicted), "fastest predicted",
       schedule_at(&ScheduleOrder::fastest_predicted), Align::left},
      {"choice_loss", value, &ScheduleOrder::loss, "choosing it loses", as::percent},
      {"limit", value, [limits](const ScheduleOrder&) { return limits.order; },
       limits.order ? "limit" : "", decimals},
      {"passed", state, passed, limits.order ? "verdict" : "", verdict, Align::left},
  };
}

Table orders_table(const Validation& validation, const Limits& limits) {
  Table table = table_of(order_fields(validation, limits), validation.orders);
  table.title = "Order of the schedules of a training, predicted against measured";
  table.notes = {
      "rank correlation: Spearman's, of the medians as they stand; – where all are predicted alike",
      "pairs apart: of schedules whose measured 95 % intervals do not overlap; predicted so: of "
      "these, those in the order measured",
      "choosing it loses: measured time of the one predicted fastest over that of the fastest, "
      "minus 1"};
  return table;
}

std::string order_clause(const Validation& validation, const Limits& limits) {
  if (validation.orders.empty()) return order_limit_clause(validation, limits);
  const Together all = together(validation);
  std::string correlations = "no rank correlation, for all are predicted alike";
  if (!all.correlations.empty()) {
    correlations = fmt::format(
        "a rank correlation of {:.2f}, median of {} (least {:.2f})", median(all.correlations),
        counted(std::ssize(all.correlations), "training"), std::ranges::min(all.correlations));
  }
  return fmt::format(
      " The order of schedules, predicted against measured, has {}; of {} apart by what was "
      "measured {} predicted so; choosing the schedule predicted fastest loses {} at most.{}",
      correlations, counted(all.pairs_apart, "pair"),
      all.pairs_right == 1 ? "1 is" : fmt::format("{} are", all.pairs_right),
      percent(all.most_lost), order_limit_clause(validation, limits));
}

}  // namespace dlscale::report
