#include "report/validation/validate.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/run/schedule_settings.hpp"
#include "core/text/numbers.hpp"
#include "report/table/run_words.hpp"
#include "report/validation/builds.hpp"
#include "report/validation/measured_runs.hpp"
#include "report/validation/run_networks.hpp"

namespace dlscale::report {

namespace {

/// Far below measurement resolution, far above the rounding of equal sums.
constexpr double alike = 1e-9;

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sum of products of the deviations of a and b from their means.
double co_moment(std::span<const double> a, std::span<const double> b) {
  const double mean_a = mean(a);
  const double mean_b = mean(b);
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - mean_a) * (b[i] - mean_b);
  return sum;
}

/// By overlap of intervals that span all launches, and not by the interval of a ratio of medians:
/// that takes 5 launches of both, which not all trainings have.
bool is_apart(const ScheduleTime& a, const ScheduleTime& b) {
  return a.high < b.low || b.high < a.low;
}

/// Counts pairs with a known measured order, and those predicted in that order.
void count_pairs(std::span<const ScheduleTime> schedules, ScheduleOrder& order) {
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    for (std::size_t j = i + 1; j < schedules.size(); ++j) {
      if (!is_apart(schedules[i], schedules[j])) continue;
      ++order.pairs_apart;
      const bool slower = schedules[i].low > schedules[j].high;
      const double predicted = order.predicted_ranks[i] - order.predicted_ranks[j];
      if (slower ? predicted > 0 : predicted < 0) ++order.pairs_right;
    }
  }
}

std::size_t first_of_least(const std::vector<double>& ranks) {
  return static_cast<std::size_t>(std::ranges::min_element(ranks) - ranks.begin());
}

double relative(Seconds predicted, Seconds measured) {
  return (predicted - measured) / measured;
}

Seconds median_time(const std::vector<Seconds>& times) {
  std::vector<double> seconds;
  seconds.reserve(times.size());
  for (const Seconds time : times) seconds.push_back(time.si());
  return Seconds(median(seconds));
}

PhaseError phase_error(std::string_view phase, Seconds predicted, Seconds measured,
                       Seconds iteration) {
  PhaseError error{std::string(phase), predicted, measured, {}, 0};
  if (measured > Seconds{}) error.error = relative(predicted, measured);
  error.share_of_error = (predicted - measured) / iteration;
  return error;
}

std::vector<PhaseError> phase_errors(const MeasuredRun& measured,
                                     const model::IterationTime& predicted) {
  const Seconds iteration = median_time(measured.t_iter);
  std::vector<PhaseError> errors{phase_error("t_iter", predicted.total, iteration, iteration)};
  for (const Phase& phase : iteration_phases) {
    errors.push_back(phase_error(phase.series, predicted_time(phase, predicted),
                                 measured.phases.find(phase.series)->second, iteration));
  }
  return errors;
}

std::string blame(const std::vector<PhaseError>& phases) {
  const auto smaller = [](const PhaseError& a, const PhaseError& b) {
    return std::abs(a.share_of_error) < std::abs(b.share_of_error);
  };
  return std::max_element(phases.begin() + 1, phases.end(), smaller)->phase;
}

/// Axes that must agree for a run on 1 rank, which waits for no other, to be the baseline of a run
/// on more.
std::map<std::string, std::string> baseline_axes(const MeasuredRun& measured) {
  std::map<std::string, std::string> axes = measured.axes;
  axes.erase("ranks");
  axes.erase("ranks_on_node");
  axes.erase("waiting");
  return axes;
}

std::map<std::string, std::string> under_any_schedule(std::map<std::string, std::string> axes) {
  for (const std::string_view name : schedule_axis_names) axes.erase(std::string(name));
  return axes;
}

/// The measured phases in the form of predicted ones.
model::IterationTime measured_time(const MeasuredRun& measured) {
  model::IterationTime time;
  for (const Phase& phase : iteration_phases) {
    if (phase.predicted != nullptr) {
      time.*phase.predicted = measured.phases.find(phase.series)->second;
    }
  }
  time.total = median_time(measured.t_iter);
  time.load = measured.load;
  time.hidden_comm = measured.hidden_comm;
  return time;
}

std::string training_key(const MeasuredRun& measured) {
  Measurement bare;
  bare.benchmark = "e2e";
  bare.axes = under_any_schedule(measured.axes);
  return bare.key();
}

/// Measured t_iter of the same run on 1 rank. If this schedule was not measured there, of any
/// schedule: one rank has nothing to schedule.
std::optional<Seconds> single_rank_time(const MeasuredRun& measured,
                                        std::span<const MeasuredRun> runs) {
  std::vector<Seconds> other_schedules;
  const std::map<std::string, std::string> wanted = baseline_axes(measured);
  for (const MeasuredRun& candidate : runs) {
    if (candidate.run.ranks != 1 || candidate.build != measured.build) continue;
    const std::map<std::string, std::string> offered = baseline_axes(candidate);
    if (offered == wanted) return median_time(candidate.t_iter);
    if (under_any_schedule(offered) == under_any_schedule(wanted)) {
      other_schedules.push_back(median_time(candidate.t_iter));
    }
  }
  if (other_schedules.empty()) return {};
  return median_time(other_schedules);
}

RunValidation validate_run(const MeasuredRun& measured, const Predictor& predictor,
                           std::span<const MeasuredRun> runs) {
  RunValidation result;
  result.key = measured.key;
  result.training = training_key(measured);
  result.links = measured.links;
  result.build = measured.build;
  result.run = measured.run;
  result.backend = measured.axes.at("backend");
  result.repeats = static_cast<int>(measured.t_iter.size());
  result.measured = measured.t_iter;
  result.measured_low = measured.low;
  result.measured_high = measured.high;
  result.prediction = predictor(measured.run);
  for (const Seconds time : measured.t_iter) {
    result.errors.push_back(relative(result.prediction.time.total, time));
  }
  result.phases = phase_errors(measured, result.prediction.time);
  result.blame = blame(result.phases);
  result.measured_bound = model::bound_by(measured_time(measured), result.prediction.shares_cores);
  if (measured.run.ranks > 1) {
    if (const auto single = single_rank_time(measured, runs)) {
      result.naive_error = relative(*single, median_time(measured.t_iter));
    }
  }
  return result;
}

std::vector<double> absolute(std::vector<double> values) {
  for (double& value : values) value = std::abs(value);
  return values;
}

/// Network, batch, precision, links and number of ranks.
using Workload = std::tuple<std::string, int, DType, std::string, int>;

Workload workload_of(const RunValidation& run) {
  return {run.run.network, run.run.batch, run.run.dtype, run.links, run.run.ranks};
}

/// Adds the interval of the median error. Repeats, schedules and builds of a workload resemble each
/// other, so it counts once.
void add_interval(ErrorSummary& summary, const std::map<Workload, std::vector<double>>& errors) {
  summary.workloads = static_cast<int>(errors.size());
  if (summary.workloads < least_workloads) return;
  std::vector<double> medians;
  for (const auto& [workload, its] : errors) medians.push_back(median(absolute(its)));
  const Summary of_workloads = summarize(medians);
  summary.median_abs_low = std::min(of_workloads.ci95_low, summary.median_abs);
  summary.median_abs_high = std::max(of_workloads.ci95_high, summary.median_abs);
}

template <class Member>
ErrorSummary summarize_group(const std::string& group, std::span<const RunValidation> runs,
                             Member&& is_member) {
  ErrorSummary summary;
  summary.group = group;
  std::vector<double> errors;
  std::map<Workload, std::vector<double>> by_workload;
  std::vector<double> naive;
  for (const RunValidation& run : runs) {
    if (!is_member(run)) continue;
    ++summary.runs;
    std::vector<double>& its = by_workload[workload_of(run)];
    its.insert(its.end(), run.errors.begin(), run.errors.end());
    errors.insert(errors.end(), run.errors.begin(), run.errors.end());
    if (run.naive_error) naive.push_back(std::abs(*run.naive_error));
  }
  summary.repeats = static_cast<int>(errors.size());
  summary.bias = median(errors);
  summary.median_abs = median(absolute(errors));
  add_interval(summary, by_workload);
  summary.p90_abs = quantile(absolute(errors), 0.9);
  if (!naive.empty()) summary.naive_median_abs = median(naive);
  return summary;
}

/// One summary for each value of `property` among the runs.
template <class Property, class Name>
void append_groups(std::vector<ErrorSummary>& summaries, std::span<const RunValidation> runs,
                   Property property, Name name) {
  using Value = decltype(property(runs.front()));
  std::map<Value, std::string> groups;
  for (const RunValidation& run : runs) groups.emplace(property(run), name(property(run)));
  for (const auto& [value, group] : groups) {
    const auto is_member = [&, value = value](const RunValidation& run) {
      return property(run) == value;
    };
    summaries.push_back(summarize_group(group, runs, is_member));
  }
}

std::vector<ErrorSummary> summarize_runs(std::span<const RunValidation> runs) {
  std::vector<ErrorSummary> summaries{
      summarize_group("all", runs, [](const RunValidation&) { return true; })};
  std::set<int> counts;
  for (const RunValidation& run : runs) counts.insert(run.run.ranks);
  for (const int ranks : counts) {
    summaries.push_back(
        summarize_group(counted(ranks, "rank"), runs,
                        [ranks](const RunValidation& run) { return run.run.ranks == ranks; }));
    summaries.back().ranks = ranks;
  }
  append_groups(
      summaries, runs, [](const RunValidation& run) { return run.run.network; },
      [](const std::string& network) { return network; });
  append_groups(
      summaries, runs,
      [](const RunValidation& run) { return std::pair(run.run.schedule, run.run.synchronisation); },
      [](const auto& way) {
        Run run;
        std::tie(run.schedule, run.synchronisation) = way;
        return schedule_text(run);
      });
  if (std::ranges::any_of(runs, [](const RunValidation& run) { return !run.build.empty(); })) {
    append_groups(
        summaries, runs, [](const RunValidation& run) { return run.build; },
        [](const std::string& build) { return build; });
  }
  return summaries;
}

/// The orders of schedules on several ranks: on one rank nothing is exchanged.
std::vector<ScheduleOrder> schedule_orders(std::span<const RunValidation> runs) {
  using Training = std::tuple<std::string, std::string, std::string>;
  std::map<Training, std::vector<std::size_t>> trainings;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunValidation& run = runs[i];
    if (run.run.ranks > 1) trainings[{run.training, run.links, run.build}].push_back(i);
  }
  std::vector<ScheduleOrder> orders;
  for (const auto& [training, members] : trainings) {
    if (members.size() < 2) continue;
    std::vector<ScheduleTime> times;
    for (const std::size_t i : members) {
      times.push_back({runs[i].iteration().measured, runs[i].measured_low, runs[i].measured_high,
                       runs[i].iteration().predicted});
    }
    orders.push_back(order_of(times));
    orders.back().runs = members;
  }
  std::ranges::sort(orders, {}, [](const ScheduleOrder& order) { return order.runs.front(); });
  return orders;
}

/// Refuses results that helped to fit the machine: they cannot judge its predictions.
void refuse_sources(const model::Machine& machine, std::span<const ResultFile> results) {
  namespace fs = std::filesystem;
  for (const ResultFile& file : results) {
    if (!has_runs(file)) continue;
    for (const std::string& source : machine.sources) {
      if (fs::weakly_canonical(source) != fs::weakly_canonical(file.path)) continue;
      throw ConfigError(fmt::format(
          "{} is among the sources of the machine, so it cannot judge it. Calibrate without it.",
          file.path.string()));
    }
  }
}

Validation judge(const Predictor& predictor, const MeasuredRuns& measured) {
  Validation validation;
  validation.notes = measured.notes;
  validation.not_judged = measured.not_judged;
  for (const MeasuredRun& run : measured.runs) {
    validation.runs.push_back(validate_run(run, predictor, measured.runs));
  }
  validation.summaries = summarize_runs(validation.runs);
  validation.orders = schedule_orders(validation.runs);
  return validation;
}

void refuse_none(const MeasuredRuns& measured) {
  if (!measured.runs.empty()) return;
  if (measured.notes.empty()) {
    throw ConfigError(
        "the results have no training run to hold predictions against. Measure one first, or name "
        "the file of its results.");
  }
  throw ConfigError(
      fmt::format("none of the training runs can be judged; {}", measured.notes.front()));
}

}  // namespace

std::vector<double> mean_ranks(std::span<const double> values, double tolerance) {
  std::vector<std::size_t> by_value(values.size());
  std::iota(by_value.begin(), by_value.end(), std::size_t{0});
  std::ranges::stable_sort(by_value, {}, [values](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < by_value.size();) {
    const double most = values[by_value[first]] * (1 + tolerance);
    std::size_t end = first;
    while (end < by_value.size() && values[by_value[end]] <= most) ++end;
    const double shared = 0.5 * static_cast<double>(first + 1 + end);
    for (; first < end; ++first) ranks[by_value[first]] = shared;
  }
  return ranks;
}

std::optional<double> rank_correlation(std::span<const double> a, std::span<const double> b) {
  EXPECT(a.size() == b.size());
  if (a.size() < 2) return std::nullopt;
  const double spread_a = co_moment(a, a);
  const double spread_b = co_moment(b, b);
  if (spread_a == 0 || spread_b == 0) return std::nullopt;
  return std::clamp(co_moment(a, b) / std::sqrt(spread_a * spread_b), -1.0, 1.0);
}

ScheduleOrder order_of(std::span<const ScheduleTime> schedules) {
  EXPECT(schedules.size() >= 2);
  std::vector<double> measured;
  std::vector<double> predicted;
  for (const ScheduleTime& schedule : schedules) {
    measured.push_back(schedule.measured.si());
    predicted.push_back(schedule.predicted.si());
  }
  ScheduleOrder order;
  order.measured_ranks = mean_ranks(measured);
  order.predicted_ranks = mean_ranks(predicted, alike);
  order.correlation = rank_correlation(order.measured_ranks, order.predicted_ranks);
  count_pairs(schedules, order);
  order.fastest_measured = first_of_least(order.measured_ranks);
  order.fastest_predicted = first_of_least(order.predicted_ranks);
  order.loss = measured[order.fastest_predicted] / measured[order.fastest_measured] - 1;
  return order;
}

Validation validate(const Predictor& predictor, std::span<const ResultFile> results) {
  refuse_several_processors(results);
  const MeasuredRuns measured = collect_runs(results);
  refuse_none(measured);
  return judge(predictor, measured);
}

Validation validate(const model::Machine& machine, std::span<const ResultFile> results) {
  refuse_sources(machine, results);
  refuse_several_processors(results);
  Networks networks = read_networks(results);
  const MeasuredRuns measured =
      collect_runs(results, [&](const ResultFile& file, const Measurement& run) {
        return network_objection(networks, file, run);
      });
  refuse_none(measured);
  const auto predictor = [&](const Run& run) {
    const int ranks[] = {run.ranks};
    return model::predict(*networks.at(run.network), machine, run, ranks).front();
  };
  Validation validation = judge(predictor, measured);
  validation.networks = std::move(networks);
  for (std::string& note : machine_differences(machine, results)) {
    validation.notes.push_back(std::move(note));
  }
  return validation;
}

double RunValidation::median_abs() const {
  return median(absolute(errors));
}

bool passes(const ErrorSummary& summary, double limit) {
  return summary.median_abs <= limit;
}

bool is_open(const ErrorSummary& summary, double limit) {
  if (!summary.median_abs_low || !summary.median_abs_high) return true;
  return *summary.median_abs_low <= limit && *summary.median_abs_high > limit;
}

bool is_certain(const Validation& validation, const Limits& limits) {
  bool kept = true;
  for (const ErrorSummary& summary : validation.summaries) {
    const auto limit = limit_of(summary, limits);
    if (!limit) continue;
    if (summary.median_abs_low > limit) return true;
    kept = kept && !is_open(summary, *limit);
  }
  return kept;
}

std::optional<double> limit_of(const ErrorSummary& summary, const Limits& limits) {
  if (summary.ranks == 0) return {};
  return summary.ranks == 1 ? limits.one_rank : limits.more_ranks;
}

std::optional<bool> passes(const ScheduleOrder& order, const Limits& limits) {
  if (!limits.order || order.pairs_apart == 0) return std::nullopt;
  constexpr double rounding = 1e-12;
  return order.correlation && *order.correlation >= *limits.order - rounding;
}

ExitCode exit_code(const Validation& validation, const Limits& limits) {
  for (const ErrorSummary& summary : validation.summaries) {
    const auto limit = limit_of(summary, limits);
    if (limit && !passes(summary, *limit)) return ExitCode::regression;
  }
  bool ordered = !limits.order;
  for (const ScheduleOrder& order : validation.orders) {
    const auto passed = passes(order, limits);
    if (passed && !*passed) return ExitCode::regression;
    ordered |= passed.has_value();
  }
  return validation.not_judged > 0 || !ordered ? ExitCode::inconclusive : ExitCode::ok;
}

}  // namespace dlscale::report
