#pragma once
#include <functional>
#include <string>
#include <vector>

#include "regression/check/check.hpp"
#include "regression/history/store.hpp"
#include "report/history/history_view.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The location of a history, and the selection of its series.
struct HistoryOptions {
  std::string store = "history";
  std::string name;     ///< regular expression; empty: all
  std::string exclude;  ///< likewise; empty: none
  void declare_store(CLI::App& command);
  void declare_selection(CLI::App& command);
  [[nodiscard]] regression::history::Store open() const;
  /// A predicate of the selected series. Throws ConfigError for an invalid regular expression.
  [[nodiscard]] std::function<bool(const regression::history::SeriesKey&)> wanted() const;
};

/// --margin: the rules by which a history is judged.
struct HistoryRules {
  double margin = 0.02;
  void declare(CLI::App& command);
  [[nodiscard]] regression::history::CheckRules chosen() const;
};

/// The commands that a reader of an answer about this history may run.
report::HistoryCommands history_commands(const std::string& store);

/// Throws ConfigError, which says what to type, if one of these paths of results is a history.
void refuse_history_folders(const std::vector<std::string>& paths);

/// Subcommands with their own source files.
void declare_history_add(CLI::App& verb, ExitCode& result);
void declare_history_bisect(CLI::App& verb, ExitCode& result);

/// Fills in the explanations of alerts: which phases of a changed iteration changed, from one run
/// at either level. If the file of such a run is lost, the alert stays without one and the report
/// says why.
void explain_alerts(regression::history::Store& store, regression::history::CheckReport& report);

}  // namespace dlscale::app
