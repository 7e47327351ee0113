#include "report/kernels/algorithm_ratios.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/base/statistics.hpp"
#include "core/network/convolution_shape.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "report/kernels/measured_cases.hpp"

namespace dlscale::report {
namespace {

using lowering::Method;

constexpr std::int64_t large_filter = 25;  ///< R · S; filters of 3 × 3 belong to Winograd

/// Time of an implementation for a case, over all its measurements.
struct Pooled {
  std::string algorithm;  ///< algorithm_of()
  Seconds time;           ///< the median of their medians
  double low, high;       ///< s, from the least to the greatest end of their 95 % intervals
};

/// Whether a row belongs to the same implementation, by the backend's words.
bool is_same(const Measurement& row, const Measurement& other) {
  return !row.implementation.empty() && row.implementation == other.implementation &&
         axis_or_empty(row, "backend") == axis_or_empty(other, "backend");
}

/// Pools the times of the implementation of `row`, a timed row of the case.
Pooled pooled(const Found& found, const Measurement& row) {
  Pooled result{algorithm_of(row), {}, std::numeric_limits<double>::infinity(), 0};
  std::vector<double> times;
  const auto add = [&](const Measurement& each) {
    const Summary& summary = each.at("time").summary;
    times.push_back(summary.median);
    result.low = std::min(result.low, summary.ci95_low);
    result.high = std::max(result.high, summary.ci95_high);
  };
  for (const Measurement* each : found.rows) {
    if (is_timed(*each) && algorithm_of(*each) == result.algorithm) add(*each);
  }
  for (const Measurement* each : found.chosen) {
    if (is_timed(*each) && is_same(*each, row)) add(*each);
  }
  result.time = Seconds(median(times));
  return result;
}

bool tie(const Pooled& one, const Pooled& other) {
  return one.low <= other.high && other.low <= one.high;
}

/// Empty if the algorithm has no time.
std::optional<Pooled> pooled_by(const Found& found, const std::string& algorithm) {
  const Measurement* row = timed_by(found.by, algorithm);
  if (row == nullptr) return std::nullopt;
  return pooled(found, *row);
}

/// The faster of those with a time; else empty.
std::optional<Pooled> faster_of(const std::optional<Pooled>& one,
                                const std::optional<Pooled>& other) {
  if (!one || !other) return one ? one : other;
  return one->time <= other->time ? one : other;
}

std::string ratio_text(double ratio) {
  return significant(ratio, 3);
}

std::string time_text(const std::optional<Pooled>& one) {
  return one ? milliseconds(one->time) : "–";
}

/// Requires at least one.
double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

/// Winograd times of both libraries.
struct WinogradCase {
  const Found* found;
  std::optional<Pooled> plain;  ///< empty: not measured, or refused
  std::optional<Pooled> fused;
  std::optional<Pooled> direct;  ///< likewise
  Pooled theirs;
  Pooled ours;  ///< the better of both
  [[nodiscard]] double ratio() const { return ours.time / theirs.time; }
  [[nodiscard]] bool tied() const { return tie(ours, theirs); }
  [[nodiscard]] bool ahead() const { return ratio() < 1 && !tied(); }
};

std::vector<WinogradCase> winograd_cases(const std::vector<Found>& all) {
  std::vector<WinogradCase> cases;
  for (const Found& found : all) {
    const auto theirs = pooled_by(found, "onednn winograd");
    const auto plain = pooled_by(found, our_algorithm(Method::winograd_f4));
    const auto fused = pooled_by(found, our_algorithm(Method::winograd_f4_fused));
    const auto ours = faster_of(plain, fused);
    if (!theirs || !ours) continue;
    cases.push_back({&found, plain, fused, pooled_by(found, "onednn direct"), *theirs, *ours});
  }
  return cases;
}

/// The fastest algorithm except our own transforms; those of libraries count as others.
std::optional<Pooled> fastest_other(const Found& found) {
  std::optional<Pooled> fastest;
  for (const Measurement* row : ranking(found.by)) {
    const std::string algorithm = algorithm_of(*row);
    const bool ours =
        algorithm == our_algorithm(Method::fft) || algorithm == our_algorithm(Method::fft_tiled);
    if (ours) continue;
    fastest = faster_of(fastest, pooled(found, *row));
  }
  return fastest;
}

std::vector<Cell> summary_cells(const std::vector<const WinogradCase*>& cases) {
  std::vector<double> ratios;
  std::vector<double> over_direct;
  for (const WinogradCase* each : cases) {
    ratios.push_back(each->ratio());
    if (each->direct) over_direct.push_back(each->ours.time / each->direct->time);
  }
  const WinogradCase& worst =
      **std::ranges::max_element(cases, {}, [](const auto* each) { return each->ratio(); });
  const auto ahead = std::ranges::count_if(cases, &WinogradCase::ahead);
  const Found& found = *worst.found;
  return {{condition_text(found.condition)},
          {found.what.pass_text()},
          {std::to_string(cases.size())},
          {ratio_text(geometric_mean(ratios))},
          {ratio_text(worst.ratio())},
          {found.what.layer},
          {std::to_string(ahead)},
          {over_direct.empty() ? "–" : ratio_text(geometric_mean(over_direct))}};
}

}  // namespace

Table winograd_summary(std::span<const ResultFile> results) {
  const std::vector<Found> all = found_cases(results);
  const std::vector<WinogradCase> cases = winograd_cases(all);
  std::map<std::pair<Axes, std::size_t>, std::vector<const WinogradCase*>> groups;
  for (const WinogradCase& each : cases) {
    groups[{each.found->condition, each.found->what.pass}].push_back(&each);
  }
  Table table;
  table.title = "Our Winograd F(4,3) over oneDNN's Winograd: ratios of times";
  table.columns = {{"measured together", Align::left},
                   {"pass", Align::left},
                   {"layers"},
                   {"geometric mean"},
                   {"largest"},
                   {"at", Align::left},
                   {"ahead at"},
                   {"ours / oneDNN direct"}};
  for (const auto& [group, members] : groups) table.rows.push_back(summary_cells(members));
  if (table.rows.empty()) return table;
  table.notes = {
      "ours: the better of fused and not; below 1 it takes less; ahead: by more than the 95 % "
      "intervals; ours / oneDNN direct: geometric "
      "mean over the same layers"};
  return table;
}

Table winograd_ratios(std::span<const ResultFile> results) {
  Table table;
  table.title = "Winograd F(4,3), case by case";
  table.columns = {{"layer", Align::left},   {"batch"},
                   {"pass", Align::left},    {"oneDNN direct ms"},
                   {"oneDNN Winograd ms"},   {"ours ms"},
                   {"ours, fused ms"},       {"ours / oneDNN Winograd"},
                   {"ours / oneDNN direct"}, {"convolution", Align::left}};
  const std::vector<Found> all = found_cases(results);
  for (const WinogradCase& each : winograd_cases(all)) {
    table.rows.push_back({{each.found->layer()},
                          {axis_or_empty(each.found->condition, "batch")},
                          {each.found->what.pass_text()},
                          {time_text(each.direct)},
                          {milliseconds(each.theirs.time)},
                          {time_text(each.plain)},
                          {time_text(each.fused)},
                          {ratio_text(each.ratio()) + (each.tied() ? " (tie)" : "")},
                          {each.direct ? ratio_text(each.ours.time / each.direct->time) : "–"},
                          {each.found->what.shape_text()}});
  }
  if (table.rows.empty()) return table;
  table.notes = {"– : not measured, or not offered for this shape",
                 "tie: the 95 % intervals of ours and of oneDNN's Winograd overlap"};
  return table;
}

Table fourier_ratios(std::span<const ResultFile> results) {
  Table table;
  table.title =
      "Our Fourier transforms beside the fastest other algorithm, filters of 5 × 5 and larger";
  table.columns = {{"layer", Align::left},
                   {"batch"},
                   {"pass", Align::left},
                   {"FFT", Align::left},
                   {"ms"},
                   {"fastest other", Align::left},
                   {"ms"},
                   {"other / FFT"},
                   {"convolution", Align::left}};
  for (const Found& found : found_cases(results)) {
    const auto fft = faster_of(pooled_by(found, our_algorithm(Method::fft)),
                               pooled_by(found, our_algorithm(Method::fft_tiled)));
    if (!fft) continue;
    const auto keyed = parse_convolution_key(found.what.kernel, 1);
    if (!keyed || keyed->shape.kernel_h * keyed->shape.kernel_w < large_filter) continue;
    const auto other = fastest_other(found);
    if (!other) continue;
    const double ratio = other->time / fft->time;
    const bool close = tie(*fft, *other);
    table.rows.push_back({{found.layer()},
                          {axis_or_empty(found.condition, "batch")},
                          {found.what.pass_text()},
                          {fft->algorithm.substr(fft->algorithm.find(' ') + 1)},
                          {milliseconds(fft->time)},
                          {other->algorithm},
                          {milliseconds(other->time)},
                          {ratio_text(ratio) + (close ? " (tie)" : ""),
                           ratio > 1 && !close ? Tone::good : Tone::plain},
                          {found.what.shape_text()}});
  }
  if (table.rows.empty()) return table;
  table.notes = {
      "above 1 the transforms are ahead of every other implementation measured beside them; tie: "
      "the 95 % intervals overlap"};
  return table;
}

}  // namespace dlscale::report
