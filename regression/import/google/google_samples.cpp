#include "regression/import/google/google_samples.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/text/escape_for_terminal.hpp"

namespace dlscale::regression::history {
namespace {

using Why = GoogleOmission::Why;

class Counter {
 public:
  Counter(const GoogleFile& file, std::span<const GoogleMetric> metrics)
      : file_(file), metrics_(metrics) {}

  GoogleCounted count() {
    for (const GoogleRow& row : file_.rows) read(row);
    for (GoogleSamples& medians : medians_.all) {
      if (!repetitions_.has(medians)) repetitions_.all.push_back(std::move(medians));
    }
    for (const std::string& name : with_values_) aggregated_.erase(name);
    for (const std::string& name : aggregated_) leave_out({name, Why::no_median, "", nullptr});
    std::erase_if(repetitions_.all, [this](const GoogleSamples& samples) {
      return samples.values.empty() || failed_.contains(samples.name);
    });
    counted_.samples = std::move(repetitions_.all);
    return std::move(counted_);
  }

 private:
  /// Samples in the order of the file, found by name and metric.
  struct Found {
    std::vector<GoogleSamples> all;
    std::map<std::pair<std::string, const GoogleMetric*>, std::size_t> places;
    std::array<std::optional<std::size_t>, google_metrics.size()> latest;  ///< place, by metric

    [[nodiscard]] bool has(const GoogleSamples& samples) const {
      return places.contains({samples.name, samples.metric});
    }
    /// The samples of one benchmark; its repetitions mostly follow each other.
    GoogleSamples& of(const std::string& name, const GoogleMetric& metric) {
      const auto which = static_cast<std::size_t>(&metric - google_metrics.data());
      std::optional<std::size_t>& last = latest[which];
      if (last && all[*last].name == name) return all[*last];
      const auto [place, fresh] = places.try_emplace({name, &metric}, all.size());
      if (fresh) all.push_back({name, &metric, {}});
      last = place->second;
      return all[*last];
    }
  };

  void leave_out(GoogleOmission omission) { counted_.left_out.push_back(std::move(omission)); }

  void read(const GoogleRow& row) {
    switch (row.outcome) {
      case GoogleRow::Outcome::failed:
        failed_.insert(row.name);
        return leave_out({row.name, Why::failed, row.message, nullptr});
      case GoogleRow::Outcome::skipped:
        return leave_out({row.name, Why::skipped, row.message, nullptr});
      case GoogleRow::Outcome::ambiguous:
        return leave_out({row.name, Why::unclear, row.message, nullptr});
      case GoogleRow::Outcome::measured:
        break;
    }
    if (!row.aggregate.empty()) aggregated_.insert(row.name);
    if (!row.aggregate.empty() && row.aggregate != "median") return;
    with_values_.insert(row.name);
    for (const GoogleMetric& metric : metrics_) read_value(row, metric);
  }

  void read_value(const GoogleRow& row, const GoogleMetric& metric) {
    const auto value = row.values.find(metric.field);
    if (value == row.values.end()) {
      if (is_time(metric)) leave_out({row.name, Why::no_value, "is not there", &metric});
      return;
    }
    const bool is_median = !row.aggregate.empty();
    GoogleSamples& samples = (is_median ? medians_ : repetitions_).of(row.name, metric);
    samples.are_medians = is_median;
    // A processor's clock may tick too seldom, and counters may have counted nothing.
    std::string problem = impossible(metric, value->second);
    if (problem.empty() && !(value->second > 0)) problem = "is 0";
    if (!problem.empty()) {
      return leave_out({row.name, Why::impossible, std::move(problem), &metric});
    }
    samples.values.push_back(value->second);
    samples.rounding = std::max(samples.rounding, file_.rounding(row, metric));
  }

  const GoogleFile& file_;
  std::span<const GoogleMetric> metrics_;
  Found repetitions_;
  Found medians_;
  std::set<std::string> aggregated_;
  std::set<std::string> with_values_;
  std::set<std::string> failed_;
  GoogleCounted counted_;
};

}  // namespace

GoogleCounted counted_samples(const GoogleFile& file, std::span<const GoogleMetric> metrics) {
  return Counter(file, metrics).count();
}

std::string omission_text(const GoogleOmission& omission) {
  const std::string name = escape_for_terminal(omission.name);
  const std::string message = escape_for_terminal(omission.message);
  switch (omission.why) {
    case Why::failed:
      return fmt::format("{}: failed ({})", name, message);
    case Why::skipped:
      return fmt::format("{}: skipped{}", name, in_brackets(omission.message));
    case Why::unclear:
      return fmt::format("{}: {}", name, message);
    case Why::no_median:
      return name + ": neither repetitions nor a median (report_aggregates_only leaves them out)";
    case Why::no_value:
    case Why::impossible:
      break;
  }
  return fmt::format("{}: its {} {}", name, omission.metric->field, message);
}

}  // namespace dlscale::regression::history
