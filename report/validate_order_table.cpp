#include "report/validate_order_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/statistics.hpp"
#include "report/numbers.hpp"
#include "report/schedule_text.hpp"

namespace dlscale::report {
namespace {

std::string correlation_text(const std::optional<double>& correlation) {
  return correlation ? fmt::format("{:.2f}", *correlation) : "–";
}

/// "alexnet, batch 32, f32, 2 ranks on 2 hosts, links of 1Gb/s by tc tbf": what a training is of.
std::string training_text(const RunValidation& validated) {
  const Run& run = validated.run;
  const int hosts = (run.ranks + run.ranks_per_node - 1) / run.ranks_per_node;
  return fmt::format("{}, batch {}, {}, {} on {}{}{}", run.network, run.batch,
                     dtype_name(run.dtype), counted(run.ranks, "rank"), counted(hosts, "host"),
                     validated.links.empty() ? "" : ", ", validated.links);
}

std::string schedule_of(const Validation& validation, const ScheduleOrder& order,
                        std::size_t place) {
  return schedule_text(ordered_run(validation, order, place).run);
}

void append_verdict(std::vector<Cell>& cells, const ScheduleOrder& order, const Limits& limits) {
  if (!limits.order) return;
  const auto passed = passes(order, limits);
  cells.push_back({fmt::format("{:.2f}", *limits.order)});
  if (!passed) {
    cells.push_back({"not judged"});
  } else {
    cells.push_back({*passed ? "kept" : "missed", *passed ? Tone::good : Tone::bad});
  }
}

/// What all orders of a validation come to together.
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

std::string limit_clause(const Validation& validation, const Limits& limits) {
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

Table orders_table(const Validation& validation, const Limits& limits) {
  Table table;
  table.title = "Order of the schedules of a training, predicted against measured";
  table.columns = {{"training", Align::left},
                   {"schedules"},
                   {"rank correlation"},
                   {"pairs apart"},
                   {"predicted so"},
                   {"fastest measured", Align::left},
                   {"fastest predicted", Align::left},
                   {"choosing it loses"}};
  if (limits.order) {
    table.columns.push_back({"limit"});
    table.columns.push_back({"verdict", Align::left});
  }
  for (const ScheduleOrder& order : validation.orders) {
    std::vector<Cell> cells{{training_text(ordered_run(validation, order, 0))},
                            {std::to_string(order.runs.size())},
                            {correlation_text(order.correlation)},
                            {std::to_string(order.pairs_apart)},
                            {std::to_string(order.pairs_right)},
                            {schedule_of(validation, order, order.fastest_measured)},
                            {schedule_of(validation, order, order.fastest_predicted)},
                            {percent(order.loss)}};
    append_verdict(cells, order, limits);
    table.rows.push_back(std::move(cells));
  }
  table.notes = {
      "rank correlation: Spearman's, of the medians as they stand; – where all are predicted alike",
      "pairs apart: of schedules whose measured 95 % intervals do not overlap; predicted so: of "
      "these, those in the order measured",
      "choosing it loses: measured time of the one predicted fastest over that of the fastest, "
      "minus 1"};
  return table;
}

std::string order_clause(const Validation& validation, const Limits& limits) {
  if (validation.orders.empty()) return limit_clause(validation, limits);
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
      percent(all.most_lost), limit_clause(validation, limits));
}

std::vector<std::string> order_values(const Validation& validation, std::size_t run) {
  for (const ScheduleOrder& order : validation.orders) {
    const auto found = std::ranges::find(order.runs, run);
    if (found == order.runs.end()) continue;
    const auto place = static_cast<std::size_t>(found - order.runs.begin());
    return {exact(order.measured_ranks.at(place)),
            exact(order.predicted_ranks.at(place)),
            order.correlation ? exact(*order.correlation) : "",
            std::to_string(order.pairs_apart),
            std::to_string(order.pairs_right),
            schedule_of(validation, order, order.fastest_measured),
            schedule_of(validation, order, order.fastest_predicted),
            exact(order.loss)};
  }
  return std::vector<std::string>(order_keys.size());
}

}  // namespace dlscale::report
