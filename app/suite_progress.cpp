#include "app/suite_progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <system_error>
#include <utility>

#include "app/output.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;

/// The state of a step that was not carried out to its end.
constexpr const char* only_begun = "begun";

std::string command(const SuiteStep& step) {
  return fmt::format("{}", fmt::join(step.words, " "));
}

/// Neither missing nor an empty file or folder.
bool holds_something(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_empty(path, error);
}

}  // namespace

SuiteProgress::SuiteProgress(const fs::path& out, std::string build)
    : folder_(out / ".done"), build_(std::move(build)) {}

fs::path SuiteProgress::file(const SuiteStep& step) const {
  std::string name = step.name;
  std::ranges::replace(name, '/', '-');
  return folder_ / name;
}

std::string SuiteProgress::state(const SuiteStep& step) const {
  std::ifstream stream(file(step));
  std::string marked_command;
  std::string marked_build;
  std::string state;
  std::getline(stream, marked_command);
  std::getline(stream, marked_build);
  std::getline(stream, state);
  return marked_command == command(step) && marked_build == build_ ? state : "";
}

bool SuiteProgress::done(const SuiteStep& step) const {
  if (step.always) return false;
  const std::string found = state(step);
  return !found.empty() && found != only_begun &&
         std::ranges::all_of(outputs_of(step), holds_something);
}

bool SuiteProgress::begun(const SuiteStep& step) const {
  return state(step) == only_begun;
}

double SuiteProgress::seconds(const SuiteStep& step) const {
  std::ifstream stream(file(step));
  std::string skipped;
  std::getline(stream, skipped);
  std::getline(stream, skipped);
  double result = 0;
  stream >> result;
  return result;
}

void SuiteProgress::keep_only(std::span<const SuiteStep> steps) const {
  if (!fs::exists(folder_)) return;
  std::set<fs::path> kept;
  for (const SuiteStep& step : steps) kept.insert(file(step));
  std::vector<fs::path> others;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    if (!kept.contains(entry.path())) others.push_back(entry.path());
  }
  for (const fs::path& other : others) fs::remove_all(other);
}

void SuiteProgress::write_mark(const SuiteStep& step, const std::string& state) const {
  write_output(file(step).string(), fmt::format("{}\n{}\n{}\n", command(step), build_, state));
}

void SuiteProgress::mark(const SuiteStep& step, double seconds) const {
  write_mark(step, fmt::format("{:.1f} s", seconds));
}

void SuiteProgress::remove_stale(const SuiteStep& step) const {
  const bool measures = !step.words.empty() && step.words.front() == "bench";
  const bool resumes = std::ranges::find(step.words, "--resume") != step.words.end();
  if (resumes ? begun(step) : !measures) return;
  for (const fs::path& output : outputs_of(step)) fs::remove_all(output);
}

void SuiteProgress::mark_begun(const SuiteStep& step) const {
  write_mark(step, only_begun);
}

void SuiteProgress::forget() const {
  fs::remove_all(folder_);
}

TimeLeft::TimeLeft(const std::vector<SuiteStep>& steps) {
  for (const SuiteStep& step : steps) estimate_left_ += step.seconds;
  trusted_ = 0.1 * estimate_left_;
}

void TimeLeft::finished(const SuiteStep& step, double seconds) {
  estimate_left_ -= step.seconds;
  estimate_done_ += step.seconds;
  spent_ += seconds;
}

double TimeLeft::seconds() const {
  if (trusted_ <= 0) return 0;
  return estimate_left_ * (spent_ + trusted_) / (estimate_done_ + trusted_);
}

}  // namespace dlscale::app
