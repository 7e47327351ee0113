#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "app/suite.hpp"

namespace dlscale::app {

/// Which steps of a suite are done, kept as one small file a step below <out>/.done, so that an
/// interrupted suite goes on where it stopped.
class SuiteProgress {
 public:
  /// `build` says which program measures, in one line.
  SuiteProgress(const std::filesystem::path& out, std::string build);
  /// The step was carried out as it is now written, by this build, and what it wrote with -o is
  /// still there. Never true of a step that always runs.
  [[nodiscard]] bool done(const SuiteStep& step) const;
  /// Seconds that the step took when it was done; 0 if it was not.
  [[nodiscard]] double seconds(const SuiteStep& step) const;
  /// To be called when a step turns out not to be done, with the steps before it: any other step
  /// may have read what this one writes anew, and counts as not done from now on.
  void keep_only(std::span<const SuiteStep> steps) const;
  void mark(const SuiteStep& step, double seconds) const;
  /// Removes what a step that resumes has written as another build, or as it was written before: it
  /// could not go on with that. Of one that measures without resuming, removes all it has written:
  /// where it measures nothing it would leave that. To be called before keep_only(), which forgets
  /// what was begun.
  void remove_stale(const SuiteStep& step) const;
  /// To be called before a step is carried out.
  void mark_begun(const SuiteStep& step) const;
  /// The step was begun as it is now written, by this build, and not carried out to its end.
  [[nodiscard]] bool begun(const SuiteStep& step) const;
  void forget() const;

 private:
  [[nodiscard]] std::filesystem::path file(const SuiteStep& step) const;
  void write_mark(const SuiteStep& step, const std::string& state) const;
  /// What the mark says of the step as it is now written, by this build; empty without one.
  [[nodiscard]] std::string state(const SuiteStep& step) const;
  std::filesystem::path folder_;
  std::string build_;
};

/// How long the rest of a suite will take: the steps' estimates, scaled by how the steps done so
/// far compared with theirs. A tenth of the suite is taken to have met its estimate, so that the
/// first short steps, which say little, do not carry it away.
class TimeLeft {
 public:
  explicit TimeLeft(const std::vector<SuiteStep>& steps);
  /// In this call or an earlier one.
  void finished(const SuiteStep& step, double seconds);
  [[nodiscard]] double seconds() const;

 private:
  double trusted_ = 0;
  double estimate_left_ = 0;
  double estimate_done_ = 0;
  double spent_ = 0;
};

}  // namespace dlscale::app
