#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/statistics.hpp"
#include "core/text/numbers.hpp"
#include "report/table/run_words.hpp"
#include "report/validation/validation_table.hpp"

namespace dlscale::report {
namespace {

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

/// " The order of schedules, predicted against measured, has …".
std::string order_clause(const Validation& validation, const Limits& limits) {
  if (validation.orders.empty()) return order_limit_clause(validation, limits);
  const Together all = together(validation);
  std::string correlations = "no rank correlation, for all are predicted alike";
  if (!all.correlations.empty()) {
    correlations = fmt::format(
        "a rank correlation of {:.2f}, median of {} (least {:.2f})", median(all.correlations),
        counted(std::ssize(all.correlations), "training"), std::ranges::min(all.correlations));
  }
  const std::string pairs =
      all.pairs_apart == 0
          ? "No two schedules differ beyond their measured 95 % intervals."
          : fmt::format(
                "Of {} whose measured 95 % intervals are apart, {} predicted in that order.",
                counted(all.pairs_apart, "pair"),
                all.pairs_right == 1 ? "1 is" : fmt::format("{} are", all.pairs_right));
  return fmt::format(
      " The order of schedules, predicted against measured, has {}. {} The schedule predicted "
      "fastest takes at most {} longer than the one measured fastest.{}",
      correlations, pairs, percent(all.most_lost), order_limit_clause(validation, limits));
}

/// Visits the groups by number of ranks, which have limits.
template <class Visit>
void for_each_limit(const Validation& validation, const Limits& limits, Visit visit) {
  for (const ErrorSummary& summary : validation.summaries) {
    if (const auto limit = limit_of(summary, limits)) visit(summary, *limit);
  }
}

/// The phase blamed by most runs with this many ranks.
std::string common_blame(const Validation& validation, int ranks) {
  std::map<std::string, int> votes;
  for (const RunValidation& run : validation.runs) {
    if (run.run.ranks == ranks) ++votes[run.blame];
  }
  const auto fewer = [](const auto& a, const auto& b) { return a.second < b.second; };
  return std::max_element(votes.begin(), votes.end(), fewer)->first;
}

std::string error_limit_clause(const ErrorSummary& summary, double limit) {
  return fmt::format("{} on {} (limit {}: {})", percent(summary.median_abs), summary.group,
                     percent(limit), passes(summary, limit) ? "kept" : "missed");
}

std::string blame_clause(const Validation& validation, const ErrorSummary& summary) {
  const std::string phase = common_blame(validation, summary.ranks);
  return fmt::format(" On {} the phase most often to blame is {} ({}).", summary.group, phase,
                     phase_word(phase));
}

/// " Noise may decide both: the limit lies within the 95 % interval."; empty where nothing is open.
std::string noise_clause(const Validation& validation, const Limits& limits) {
  if (is_certain(validation, limits)) return "";
  std::vector<std::string> open;
  std::size_t all = 0;
  bool has_intervals = true;
  int fewest = least_workloads;
  for_each_limit(validation, limits, [&](const ErrorSummary& summary, double limit) {
    ++all;
    if (!is_open(summary, limit)) return;
    open.push_back(summary.group);
    has_intervals &= summary.median_abs_low.has_value();
    fewest = std::min(fewest, summary.workloads);
  });
  const std::string few =
      fmt::format("{} (network and batch) {} too few for an interval, which takes {}",
                  counted(fewest, "workload"), fewest == 1 ? "is" : "are", least_workloads);
  return fmt::format(" Noise may decide {}: {}.",
                     open.size() == 2 && all == 2 ? "both"
                                                  : fmt::format("on {}", fmt::join(open, " and ")),
                     has_intervals ? "the limit lies within the 95 % interval"
                                   : few);
}

std::string not_judged_clause(const Validation& validation) {
  if (validation.not_judged == 0) return "";
  return fmt::format(" {} could not be judged (see the notes), so nothing is passed.",
                     counted(validation.not_judged, "measurement"));
}

}  // namespace

std::string errors_sentence(const Validation& validation, const Limits& limits) {
  std::vector<std::string> clauses;
  for_each_limit(validation, limits, [&](const ErrorSummary& summary, double limit) {
    clauses.push_back(error_limit_clause(summary, limit));
  });
  return fmt::format("off by {}, median of {}.{}", fmt::join(clauses, " and "),
                     counted(validation.summaries.front().repeats, "training"),
                     noise_clause(validation, limits));
}

std::string further_outcomes(const Validation& validation, const Limits& limits) {
  const std::string order = order_limit_clause(validation, limits);
  return (order.empty() ? "" : " Order of schedules:" + order) + not_judged_clause(validation);
}

std::string verdict_sentence(const Validation& validation, const Limits& limits) {
  std::string blames;
  for_each_limit(validation, limits, [&](const ErrorSummary& summary, double limit) {
    if (!passes(summary, limit)) blames += blame_clause(validation, summary);
  });
  return fmt::format("The predicted iteration time is {}{}{}{}",
                     errors_sentence(validation, limits), blames, order_clause(validation, limits),
                     not_judged_clause(validation));
}

}  // namespace dlscale::report
