#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/system/output_file.hpp"
#include "suite/definition/suite.hpp"

namespace dlscale::suite {

/// The completed steps of a suite, kept as one small file for each step below <out>/.done. So an
/// interrupted suite resumes where it stopped, even if the folder was renamed. Other files there
/// stay unchanged.
class SuiteProgress {
 public:
  /// `build` describes the program that measures, in one line.
  SuiteProgress(const std::filesystem::path& out, std::string build);
  /// The folder of the suite's results.
  [[nodiscard]] std::filesystem::path out() const { return folder_.parent_path(); }
  /// Whether this build completed the step as it is now written and its -o output still exists.
  /// Never true for a step that always runs.
  [[nodiscard]] bool done(const SuiteStep& step) const;
  /// Seconds that the step took if it is done; else 0.
  [[nodiscard]] double seconds(const SuiteStep& step) const;
  /// Keeps only the marks of `steps`. Call it if a step turns out not to be done, with the steps
  /// before it: any later step may have read what that step writes anew. Steps that were given up
  /// stay so.
  void keep_only(std::span<const SuiteStep> steps) const;
  void mark(const SuiteStep& step, double seconds) const;
  /// Records that all outputs of the steps are to be discarded, whatever wrote them. The record
  /// also holds if discarding is interrupted and resumed.
  void give_up(std::span<const SuiteStep> steps) const;
  /// Whether give_up() recorded the step as it is now written, with this build, and it was not
  /// begun since.
  [[nodiscard]] bool given_up(const SuiteStep& step) const;
  /// A clause that says why the step's mark does not hold for its present text and this build;
  /// empty if it does.
  [[nodiscard]] std::string difference(const SuiteStep& step) const;
  /// Marks the step as begun; call it before the step runs.
  void mark_begun(const SuiteStep& step) const;
  /// Replaces mark_begun() once the step has failed and the others ran without it: then only steps
  /// that build upon it must be repeated (RemainingSteps).
  void mark_begun_alone(const SuiteStep& step) const;
  /// Whether this build began the step as it is now written, but did not complete it;
  /// begun_alone(): marked by mark_begun_alone().
  [[nodiscard]] bool begun(const SuiteStep& step) const;
  [[nodiscard]] bool begun_alone(const SuiteStep& step) const;

  /// The place of the step's processes (Job::place).
  [[nodiscard]] std::string place(const SuiteStep& step) const;
  /// The file for the output of the step, below <out>/logs, whose folder is made.
  [[nodiscard]] std::filesystem::path log(const SuiteStep& step) const;
  /// Locks the folder of the marks for this process, and ends the step of an earlier one that was
  /// killed. If another dlscale holds it, or the file system has no locks, it ends nothing; outputs
  /// of steps are locked file by file. Without marks no step was begun, so it does nothing.
  void lock();
  /// Whether lock() succeeded, so that processes of steps there are of this call.
  [[nodiscard]] bool is_locked() const { return static_cast<bool>(lock_); }

 private:
  [[nodiscard]] std::filesystem::path file(const SuiteStep& step) const;
  void write_mark(const SuiteStep& step, std::string_view state) const;
  /// The state in the mark of the step as it is now written, by this build; empty without one.
  [[nodiscard]] std::string state(const SuiteStep& step) const;
  std::filesystem::path folder_;
  std::string build_;
  Descriptor lock_;
};

}  // namespace dlscale::suite
