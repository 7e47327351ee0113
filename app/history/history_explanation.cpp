#include "app/history/history_explanation.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "regression/import/result_run.hpp"
#include "report/comparison/attribution.hpp"

namespace dlscale::app {
namespace {

namespace history = report::history;

/// The training of a series among those of two runs.
const report::Attribution* find_training(const std::vector<report::Attribution>& all,
                                         const history::SeriesKey& key) {
  const auto found = std::ranges::find_if(all, [&](const report::Attribution& attribution) {
    return std::ranges::all_of(key.axes, [&](const auto& axis) {
      const auto same = attribution.axes.find(axis.first);
      return same != attribution.axes.end() && same->second == axis.second;
    });
  });
  return found == all.end() ? nullptr : &*found;
}

class Explainer {
 public:
  explicit Explainer(history::Store& store) : store_(store) {
    for (history::RunRecord& record : store.runs()) {
      const std::string id = record.id();
      records_.emplace(id, std::move(record));
    }
  }

  void explain(history::AlertMetric& metric) {
    const auto all = report::attribute(read(metric.run_before), read(metric.run_after));
    if (const auto* training = find_training(all, metric.key)) {
      metric.explanation = report::attribution_sentence(*training);
    }
  }

 private:
  [[nodiscard]] std::vector<ResultFile> read(const std::string& run) {
    const history::RunRecord& record = records_.at(run);
    return {history::result_of(store_.content(record), record.file)};
  }

  history::Store& store_;
  std::map<std::string, history::RunRecord> records_;
};

}  // namespace

void explain_alerts(history::Store& store, history::CheckReport& report) {
  std::optional<Explainer> explainer;
  for (history::Alert& alert : report.alerts) {
    for (history::AlertMetric& metric : alert.metrics) {
      if (metric.key.suite != "e2e" || metric.key.is_detail()) continue;
      if (!explainer) explainer.emplace(store);
      try {
        explainer->explain(metric);
      } catch (const ConfigError& error) {
        if (std::ranges::find(report.unexplained, error.what()) == report.unexplained.end()) {
          report.unexplained.emplace_back(error.what());
        }
      }
    }
  }
}

}  // namespace dlscale::app
