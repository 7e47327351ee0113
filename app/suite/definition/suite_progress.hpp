#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/suite/definition/suite.hpp"

namespace dlscale::app {

/// Which steps of a suite are done, kept as one small file a step below <out>/.done, so that an
/// interrupted suite goes on where it stopped, also where the folder is called by another name.
/// Other files that lie there stay as they are.
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
  /// may have read what this one writes anew, and counts as not done from now on. What was given up
  /// stays so.
  void keep_only(std::span<const SuiteStep> steps) const;
  void mark(const SuiteStep& step, double seconds) const;
  /// All that the steps have written is to be discarded, whatever wrote it; also where that is
  /// interrupted and gone on with.
  void give_up(std::span<const SuiteStep> steps) const;
  /// give_up() said so of the step as it is now written, to this build, and it was not begun since.
  [[nodiscard]] bool given_up(const SuiteStep& step) const;
  /// A clause on why the mark of the step does not hold for it as it is now written and for this
  /// build; empty if it does.
  [[nodiscard]] std::string difference(const SuiteStep& step) const;
  /// To be called before a step is carried out.
  void mark_begun(const SuiteStep& step) const;
  /// In place of that, and once the step failed: the others went on without it, so that it takes
  /// along only what builds upon it (StepsLeft).
  void mark_begun_alone(const SuiteStep& step) const;
  /// The step was begun as it is now written, by this build, and not carried out to its end; and in
  /// the second way.
  [[nodiscard]] bool begun(const SuiteStep& step) const;
  [[nodiscard]] bool begun_alone(const SuiteStep& step) const;

 private:
  [[nodiscard]] std::filesystem::path file(const SuiteStep& step) const;
  void write_mark(const SuiteStep& step, std::string_view state) const;
  /// What the mark says of the step as it is now written, by this build; empty without one.
  [[nodiscard]] std::string state(const SuiteStep& step) const;
  std::filesystem::path folder_;
  std::string build_;
};

/// How long the rest of a suite will take: the estimates of its steps, or cells, scaled by how
/// those done so far compared with theirs. A tenth of the suite is taken to have met its estimate,
/// so that the first short steps, which say little, do not carry it away.
class TimeLeft {
 public:
  explicit TimeLeft(std::span<const double> estimates);
  explicit TimeLeft(const std::vector<SuiteStep>& steps);
  /// In this call or an earlier one.
  void finished(double estimate, double seconds);
  void finished(const SuiteStep& step, double seconds) { finished(step.seconds, seconds); }
  /// It is not carried out.
  void left_out(const SuiteStep& step) { estimate_left_ -= step.seconds; }
  [[nodiscard]] double seconds() const;

 private:
  double trusted_ = 0;
  double estimate_left_ = 0;
  double estimate_done_ = 0;
  double spent_ = 0;
};

}  // namespace dlscale::app
