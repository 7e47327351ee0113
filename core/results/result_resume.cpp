#include "core/results/result_resume.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <string>
#include <string_view>

#include "core/base/error.hpp"
#include "core/results/locked_results.hpp"
#include "core/results/result_json.hpp"
#include "core/system/build_info.hpp"

namespace dlscale {
namespace {

namespace fs = std::filesystem;
using Facts = std::map<std::string, std::string>;

/// Open MPI's launcher passes some settings in variables that differ between launches, such as the
/// address of its daemon.
constexpr std::string_view launcher_prefix = "OMPI_MCA_";

/// Text for a field of the header in a message, if the field is not an option.
std::string name_in_message(const std::string& name) {
  if (name == "build") return "the program's build id";
  if (name == "ceilings_hash") return "the content of the ceilings and the cluster";
  return "option " + name;
}

/// Facts that must agree between two runs for their times to share a file, by their names in
/// messages.
Facts facts_of(const ResultHeader& header) {
  const Environment& where = header.environment;
  Facts facts{{"the host", where.host_hash},
              {"the processor", where.cpu},
              {"the number of cores", std::to_string(where.cores)},
              {"the cores it may use", where.affinity},
              {"the system's kernel", where.kernel},
              {"the governor of the cores' clocks", where.governor},
              {"what arithmetic makes of denormals", where.denormals},
              {"the compiler", where.compiler},
              {"the compiler's flags", where.flags},
              {"the commit", where.commit + (where.dirty ? " with local changes" : "")}};
  for (const auto& [name, value] : header.run) {
    const bool known_by_content = name == "ceilings" && header.run.contains("ceilings_hash");
    if (!known_by_content) facts[name_in_message(name)] = value;
  }
  for (const auto& [name, value] : where.libraries) facts["the version of " + name] = value;
  for (const auto& [name, value] : where.variables) {
    if (!name.starts_with(launcher_prefix)) facts["variable " + name] = value;
  }
  return facts;
}

std::string or_nothing(const Facts& facts, const std::string& name) {
  const auto found = facts.find(name);
  return found == facts.end() || found->second.empty() ? "nothing" : found->second;
}

/// Builds of one commit with local changes differ only in their build id.
void expect_known_build(const fs::path& path, const ResultHeader& here) {
  const auto build = here.run.find("build");
  const bool known =
      build != here.run.end() && !build->second.empty() && build->second != unknown_build;
  if (known || !here.environment.dirty) return;
  throw ConfigError(fmt::format(
      "{} cannot be resumed: this program was built with local changes and has no build "
      "id, so that nobody can tell whether it is the one that began. Commit the "
      "changes, or link it with a build id.",
      path.string()));
}

void expect_same_benchmark(const fs::path& path, const ResultHeader& there,
                           const ResultHeader& here) {
  if (there.benchmark == here.benchmark) return;
  throw ConfigError(
      fmt::format("{} cannot be resumed: it has results of bench {}, not of bench {}. Name another "
                  "output file, or replace it without resuming.",
                  path.string(), there.benchmark, here.benchmark));
}

void expect_same_run(const fs::path& path, const ResultHeader& there, const ResultHeader& here) {
  expect_same_benchmark(path, there, here);
  expect_known_build(path, here);
  const Facts old_facts = facts_of(there);
  const Facts new_facts = facts_of(here);
  Facts all = old_facts;
  all.insert(new_facts.begin(), new_facts.end());
  for (const auto& [name, value] : all) {
    const std::string before = or_nothing(old_facts, name);
    const std::string now = or_nothing(new_facts, name);
    if (before == now) continue;
    throw ConfigError(
        fmt::format("{} cannot be resumed: {} was {} there and is {} now, so that their times do "
                    "not belong together. Measure all anew without resuming, or name another "
                    "output file.",
                    path.string(), name, before, now));
  }
}

/// Size of the first lines; all bytes if the last one has no line break.
struct Lines {
  std::size_t count = 0;
  std::uintmax_t bytes = 0;
};
Lines first_lines(const fs::path& path, std::size_t wanted) {
  std::ifstream stream(path, std::ios::binary);
  Lines lines;
  for (std::string text; lines.count < wanted && std::getline(stream, text) && !stream.eof();) {
    ++lines.count;
    lines.bytes += text.size() + 1;
  }
  return lines;
}

/// Whether the file holds only the beginning of a header.
bool only_begins_header(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::string text;
  std::getline(stream, text);
  if (!stream.eof() || !begins_header(text)) return false;
  try {
    (void)parse_header(text);
    return false;  // complete except for its line break: it must be of the same run
  } catch (const ConfigError&) {
    return true;
  }
}

}  // namespace

ResumePoint find_resume_point(const fs::path& path, const ResultHeader& header) {
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) {
    throw ConfigError(
        fmt::format("{} is not a file, so it holds nothing to go on with. Do not "
                    "resume it, or name an output file.",
                    path.string()));
  }
  ResumePoint point;
  point.file = std::make_shared<LockedResults>(path);
  if (fs::is_empty(path) || only_begins_header(path)) {
    point.opening = header_line(header);
    return point;
  }
  ResultFile file = read_results(path);
  expect_same_run(path, file.header, header);
  const auto stopped =
      std::ranges::find(file.measurements, Status::interrupted, &Measurement::status);
  file.measurements.erase(stopped, file.measurements.end());
  const Lines lines = first_lines(path, 1 + file.measurements.size());
  point.bytes = lines.bytes;
  if (lines.count == 0) {  // the header itself lacks its line break
    point.opening = header_line(header);
    return point;
  }
  file.measurements.resize(lines.count - 1);
  point.measurements = std::move(file.measurements);
  return point;
}

}  // namespace dlscale
