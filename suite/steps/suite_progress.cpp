#include "suite/steps/suite_progress.hpp"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <istream>
#include <set>
#include <sstream>
#include <string_view>
#include <system_error>
#include <utility>

#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "suite/job/job.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;

/// The states of an unfinished step: the others waited for it, or ran without it, or its results
/// are to be discarded. Any other state is the step's time.
constexpr std::string_view only_begun = "begun";
constexpr std::string_view begun_while_others_went_on = "begun, and the others went on";
constexpr std::string_view only_given_up = "to be discarded";
constexpr std::string_view seconds_end = " s";

/// The command in a step's mark.
std::string command(const SuiteStep& step) {
  return fmt::format("{}", fmt::join(step.placed_words, " "));
}

struct Mark {
  std::string command;
  std::string build;
  std::string state;  ///< empty: not a mark
};

Mark read_mark(std::istream& stream) {
  Mark mark;
  std::string more;
  std::getline(stream, mark.command);
  std::getline(stream, mark.build);
  std::getline(stream, mark.state);
  const bool known = mark.state == only_begun || mark.state == begun_while_others_went_on ||
                     mark.state == only_given_up || mark.state.ends_with(seconds_end);
  if (!known || std::getline(stream, more)) return {};
  return mark;
}

Mark read_mark(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return {};
  std::ifstream stream(path);
  return read_mark(stream);
}

bool is_mark(std::istream& stream) {
  return !read_mark(stream).state.empty();
}

/// Whether a path is a file or folder with content.
bool holds_something(const fs::path& path) {
  std::error_code error;
  return fs::exists(path, error) && !fs::is_empty(path, error) && !error;
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
  return difference(step).empty() ? read_mark(file(step)).state : "";
}

std::string SuiteProgress::difference(const SuiteStep& step) const {
  const Mark mark = read_mark(file(step));
  if (mark.state.empty()) {
    return fmt::format("nothing tells that step \"{}\" of this suite wrote it", step.name);
  }
  if (mark.command != command(step)) {
    return fmt::format("step \"{}\" was carried out with other options", step.name);
  }
  if (mark.build == build_) return "";
  return fmt::format("step \"{}\" was carried out by another build of dlscale", step.name);
}

bool SuiteProgress::done(const SuiteStep& step) const {
  if (step.always) return false;
  const std::string found = state(step);
  return found.ends_with(seconds_end) && std::ranges::all_of(step.outputs, holds_something);
}

bool SuiteProgress::begun(const SuiteStep& step) const {
  return state(step) == only_begun || begun_alone(step);
}

bool SuiteProgress::begun_alone(const SuiteStep& step) const {
  return state(step) == begun_while_others_went_on;
}

bool SuiteProgress::given_up(const SuiteStep& step) const {
  return state(step) == only_given_up;
}

double SuiteProgress::seconds(const SuiteStep& step) const {
  std::istringstream stream(read_mark(file(step)).state);
  double result = 0;
  stream >> result;
  return result;
}

void SuiteProgress::keep_only(std::span<const SuiteStep> steps) const {
  std::set<fs::path> kept;
  for (const SuiteStep& step : steps) kept.insert(file(step));
  std::vector<fs::path> others;
  std::error_code none;  // a missing folder has nothing to remove
  for (const auto& entry : fs::directory_iterator(folder_, none)) {
    const std::string state = read_mark(entry.path()).state;
    const bool forgotten = !state.empty() && state != only_given_up;
    if (forgotten && !kept.contains(entry.path())) others.push_back(entry.path());
  }
  for (const fs::path& other : others) fs::remove(other);
}

void SuiteProgress::write_mark(const SuiteStep& step, std::string_view state) const {
  refuse_foreign_file(file(step), "the mark of a step that was done", is_mark);
  write_output(file(step).string(), fmt::format("{}\n{}\n{}\n", command(step), build_, state));
}

void SuiteProgress::mark(const SuiteStep& step, double seconds) const {
  write_mark(step, fmt::format("{:.1f}{}", seconds, seconds_end));
}

void SuiteProgress::give_up(std::span<const SuiteStep> steps) const {
  for (const SuiteStep& step : steps) write_mark(step, only_given_up);
}

void SuiteProgress::mark_begun(const SuiteStep& step) const {
  write_mark(step, only_begun);
}

void SuiteProgress::mark_begun_alone(const SuiteStep& step) const {
  write_mark(step, begun_while_others_went_on);
}

std::string SuiteProgress::place(const SuiteStep& step) const {
  return place_of(folder_, file(step).filename().string());
}

fs::path SuiteProgress::log(const SuiteStep& step) const {
  const fs::path folder = folder_.parent_path() / "logs";
  std::error_code exists;
  fs::create_directory(folder, exists);
  return folder / file(step).filename().concat(".log");
}

void SuiteProgress::lock() {
  std::error_code absent;
  if (lock_ || !fs::is_directory(folder_, absent)) return;
  Descriptor file(::open((folder_ / ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!file || file.try_lock() != Descriptor::Lock::held) return;
  lock_ = std::move(file);
  end_orphans(place_of(folder_, ""), "a step");
}

}  // namespace dlscale::suite
