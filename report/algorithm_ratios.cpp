#include "report/algorithm_ratios.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/convolution_shape.hpp"
#include "core/statistics.hpp"
#include "report/measured_cases.hpp"
#include "report/numbers.hpp"

namespace dlscale::report {
namespace {

constexpr std::int64_t large_filter = 25;  ///< R · S; filters of 3 × 3 are those of Winograd

/// The fastest of those named that has a time; else null.
const Measurement* faster_of(const ByAlgorithm& by, std::initializer_list<const char*> names) {
  const Measurement* best = nullptr;
  for (const char* name : names) {
    const Measurement* row = timed_by(by, name);
    if (row != nullptr && (best == nullptr || time_of(*row) < time_of(*best))) best = row;
  }
  return best;
}

std::string ratio_text(double ratio) {
  return significant(ratio, 3);
}

std::string time_text(const Measurement* row) {
  return row == nullptr ? "–" : milliseconds(time_of(*row));
}

std::string ratio_or_dash(const Measurement* above, const Measurement* below) {
  if (above == nullptr || below == nullptr) return "–";
  return ratio_text(time_of(*above) / time_of(*below));
}

/// Requires at least one.
double geometric_mean(const std::vector<double>& ratios) {
  double sum = 0;
  for (const double ratio : ratios) sum += std::log(ratio);
  return std::exp(sum / static_cast<double>(ratios.size()));
}

/// Winograd by both libraries.
struct WinogradCase {
  const Found* found;
  const Measurement* theirs;
  const Measurement* plain;  ///< null: not measured, or refused
  const Measurement* fused;
  const Measurement* ours;    ///< the better of both
  const Measurement* direct;  ///< likewise null
  [[nodiscard]] double ratio() const { return time_of(*ours) / time_of(*theirs); }
  [[nodiscard]] bool tied() const { return tie(found->rows, *ours, *theirs); }
  [[nodiscard]] bool ahead() const { return ratio() < 1 && !tied(); }
};

std::vector<WinogradCase> winograd_cases(const std::vector<Found>& all) {
  std::vector<WinogradCase> cases;
  for (const Found& found : all) {
    WinogradCase each{
        .found = &found,
        .theirs = timed_by(found.by, "onednn winograd"),
        .plain = timed_by(found.by, "native winograd_f4"),
        .fused = timed_by(found.by, "native winograd_f4_fused"),
        .ours = faster_of(found.by, {"native winograd_f4", "native winograd_f4_fused"}),
        .direct = timed_by(found.by, "onednn direct")};
    if (each.theirs != nullptr && each.ours != nullptr) cases.push_back(each);
  }
  return cases;
}

std::vector<Cell> summary_cells(const std::vector<const WinogradCase*>& cases) {
  std::vector<double> ratios;
  std::vector<double> over_direct;
  for (const WinogradCase* each : cases) {
    ratios.push_back(each->ratio());
    if (each->direct != nullptr) {
      over_direct.push_back(time_of(*each->ours) / time_of(*each->direct));
    }
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
                          {time_text(each.theirs)},
                          {time_text(each.plain)},
                          {time_text(each.fused)},
                          {ratio_text(each.ratio()) + (each.tied() ? " (tie)" : "")},
                          {ratio_or_dash(each.ours, each.direct)},
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
    const Measurement* fft = faster_of(found.by, {"native fft", "native fft_tiled"});
    if (fft == nullptr) continue;
    const auto keyed = parse_convolution_key(found.what.kernel, 1);
    if (!keyed || keyed->shape.kernel_h * keyed->shape.kernel_w < large_filter) continue;
    Rows others = ranking(found.by);
    std::erase_if(others, [](const Measurement* row) {  // by libraries they are others
      return algorithm_of(*row) == "native fft" || algorithm_of(*row) == "native fft_tiled";
    });
    if (others.empty()) continue;
    const Measurement& other = *others.front();
    const double ratio = time_of(other) / time_of(*fft);
    const bool close = tie(found.rows, *fft, other);
    table.rows.push_back({{found.layer()},
                          {axis_or_empty(found.condition, "batch")},
                          {found.what.pass_text()},
                          {axis_or_empty(*fft, "algorithm")},
                          {time_text(fft)},
                          {algorithm_of(other)},
                          {time_text(&other)},
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
