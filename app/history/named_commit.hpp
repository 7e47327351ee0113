#pragma once
#include <span>
#include <string>
#include <vector>

#include "regression/history/run.hpp"
#include "regression/history/store.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The commit whose results are added: --commit, --time and --repository.
struct NamedCommit {
  std::string commit;
  std::string time;
  std::string repository;

  void declare(CLI::App& command);
  /// Commit, time and ancestors of the runs; appends to `notes` what is not known of them. Throws
  /// ConfigError for a word that may stand for another commit tomorrow, and for a time to come.
  [[nodiscard]] regression::history::RunOptions look_up(std::vector<std::string>& notes) const;
  /// Notes on the runs to be added beside the commits of the history: other names and times of one
  /// commit, branches. Throws ConfigError for a name of several commits.
  [[nodiscard]] std::vector<std::string> compare(
      std::span<const regression::history::RunRecord> there,
      std::span<const regression::history::ImportedRun> runs) const;
};

}  // namespace dlscale::app
