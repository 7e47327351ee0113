#pragma once
#include <functional>
#include <string>

#include "regression/check/check.hpp"
#include "regression/history/store.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Where a history lies, and which of its series to look at.
struct HistoryOptions {
  std::string store = "history";
  std::string name;     ///< regular expression; empty: all
  std::string exclude;  ///< likewise; empty: none
  void declare_store(CLI::App& command);
  void declare_selection(CLI::App& command);
  [[nodiscard]] report::history::Store open() const;
  /// Throws ConfigError if one is not a regular expression.
  [[nodiscard]] std::function<bool(const report::history::SeriesKey&)> wanted() const;
};

/// --margin, --sensitive: the rules a history is judged by.
struct HistoryRules {
  bool sensitive = false;
  double margin = 0.02;
  void declare(CLI::App& command);
  [[nodiscard]] report::history::CheckRules chosen() const;
};

/// The subcommands that have files of their own.
void declare_history_add(CLI::App& verb, ExitCode& result);
void declare_history_bisect(CLI::App& verb, ExitCode& result);

}  // namespace dlscale::app
