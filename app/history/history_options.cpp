#include "app/history/history_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/results/measurement.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/name_pattern.hpp"
#include "core/text/shell_words.hpp"
#include "report/comparison/attribution.hpp"

namespace dlscale::app {
namespace {

std::optional<NamePattern> pattern(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  return NamePattern(option, text);
}

}  // namespace

void HistoryOptions::declare_store(CLI::App& command) {
  command
      .add_option("--store", store, "Folder of the history; it may be a work tree of a git branch")
      ->type_name("FOLDER")
      ->capture_default_str()
      ->envname("DLSCALE_HISTORY");
}

void HistoryOptions::declare_selection(CLI::App& command) {
  command.add_option("--name", name, "Only series whose name this regular expression is found in");
  command.add_option("--exclude", exclude, "No series whose name this one is found in");
}

regression::history::Store HistoryOptions::open() const {
  // Earlier versions used such a word for a branch; it is hardly meant as a folder.
  if (store.starts_with("git:")) {
    throw ConfigError(
        fmt::format("\"{}\" is not a folder, and a history is one. Check its branch out with git "
                    "worktree add FOLDER BRANCH, and name that folder.",
                    escape_for_terminal(store)));
  }
  return regression::history::Store(store);
}

std::function<bool(const regression::history::SeriesKey&)> HistoryOptions::wanted() const {
  const auto in = pattern(name, "--name");
  const auto out = pattern(exclude, "--exclude");
  if (!in && !out) return [](const regression::history::SeriesKey&) { return true; };
  return [in, out](const regression::history::SeriesKey& key) {
    const std::string text = key.name();
    return (!in || in->is_in(text)) && !(out && out->is_in(text));
  };
}

void HistoryRules::declare(CLI::App& command) {
  command
      .add_option("--margin", margin,
                  "Changes of the newest commit smaller than this fraction do not matter; of a "
                  "level half of it")
      ->check(margin_fraction())
      ->capture_default_str();
  // Earlier versions found small changes with this only.
  command
      .add_flag_callback("--low-threshold,--sensitive",
                         [] {
                           fmt::print(stderr,
                                      "dlscale: --low-threshold has no effect: histories "
                                      "are judged as sharply without it. Leave it out\n");
                         })
      ->group("");
}

regression::history::CheckRules HistoryRules::chosen() const {
  regression::history::CheckRules rules;
  rules.newest.margin = margin;
  rules.changes.margin = margin / 2;
  rules.changes.newest_margin = margin;
  return rules;
}

namespace {

namespace history = regression::history;

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
    ResultFile file = read_results(store_.file_of(record));
    file.path = record.file;
    return {std::move(file)};
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

report::HistoryCommands history_commands(const std::string& store) {
  return {"dlscale history add --store " + shell_word(store),
          "dlscale history check --store " + shell_word(store),
          [store](const std::string& commit) {
            return fmt::format("dlscale history bisect {} --store {}", commit, shell_word(store));
          },
          [store](const std::string& commit, const char* state) {
            return fmt::format("dlscale history annotate {} --store {} --state {} --note WHY",
                               commit, shell_word(store), state);
          },
          "dlscale doctor"};
}

void refuse_history_folders(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    std::ifstream format(std::filesystem::path(path) / "format.json");
    const std::string text(std::istreambuf_iterator<char>(format), {});
    if (text.find("\"dlscale.history\"") == std::string::npos) continue;
    throw ConfigError(fmt::format(
        "{} is a history, not results. For its page write dlscale report --history {}.",
        escape_for_terminal(path), escape_for_terminal(shell_word(path))));
  }
}

}  // namespace dlscale::app
