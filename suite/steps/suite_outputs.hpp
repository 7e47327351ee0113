#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "suite/definition/suite.hpp"
#include "suite/steps/suite_progress.hpp"

namespace dlscale::suite {

/// Whether all steps are repeated, whatever that discards.
enum class Fresh { no, yes };

/// Checks the outputs; call it before anything is measured. Throws ConfigError if a benchmark would
/// write over a folder, a file of another kind, or a file that another dlscale writes. Unless all
/// steps are repeated, it also throws if existing measurements would be discarded: those of another
/// build or other options, and those after a step that is repeated.
void protect_outputs(std::span<const SuiteStep> steps, const SuiteProgress& progress, Fresh fresh);

/// Throws ConfigError if a step would write over what the suite itself keeps in its folder, even
/// through a link.
void refuse_own_files(std::span<const SuiteStep> steps, const std::filesystem::path& out);

/// Results of the cells of a suite as they were before a step, which may write over them without
/// naming them as its output, as a shell does.
class CellResults {
 public:
  explicit CellResults(std::filesystem::path out);
  /// Runs the step, after which the list of cells is what it was, however that ends. Throws
  /// ConfigError if the list or a file of a cell has changed.
  void guard(const SuiteStep& step, const std::function<void()>& run) const;

 private:
  /// Writes the list of cells as it was if it has changed. Returns whether it had to.
  [[nodiscard]] bool restore() const;
  void check(const SuiteStep& step) const;
  /// A file of a cell: what changes if it is written anew.
  struct Identity {
    std::uintmax_t bytes = 0;
    std::filesystem::file_time_type written;
    bool operator==(const Identity&) const = default;
  };
  using Identities = std::map<std::filesystem::path, Identity>;
  [[nodiscard]] Identities files_of_cells() const;

  std::filesystem::path out_;
  std::string list_;
  Identities files_;
};

/// Empties the result files of a benchmark that can resume but is to start anew; if interrupted, it
/// would resume them. Throws ConfigError as protect_outputs() does for existing files.
void empty_outputs(const SuiteStep& step);

/// A result without a time because its answer was wrong.
struct WrongRow {
  std::string file;
  std::string key;     ///< Measurement::key()
  std::string reason;  ///< Measurement::reason
};

/// Whether rows of the finished results explain the step's exit code: some are wrong, or nothing
/// could be measured. Throws ConfigError if they cannot be read.
bool told_by_rows(const SuiteStep& step, ExitCode code);

/// All wrong rows in the finished results of these steps, in their order. Throws ConfigError if one
/// cannot be read.
std::vector<WrongRow> wrong_rows(std::span<const SuiteStep> steps);

/// Reports wrong rows on standard error, the first few by name. Returns the exit code of the suite:
/// that of a wrong result, else ok.
ExitCode conclude(std::span<const WrongRow> wrong);

}  // namespace dlscale::suite
