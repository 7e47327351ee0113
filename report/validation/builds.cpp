#include "report/validation/builds.hpp"

#include <algorithm>
#include <cstddef>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/text/numbers.hpp"

namespace dlscale::report {
namespace {

/// Names and values of what makes a build; unrecorded ones are left out.
using Identity = std::map<std::string, std::string>;

/// Excludes the communicator, since one rank needs none.
Identity identity_of(const Environment& environment) {
  Identity identity = environment.libraries;
  identity.erase("communicator");
  identity["compiler"] = environment.compiler;
  identity["compiler flags"] = environment.flags;
  identity["commit"] = environment.commit;
  std::erase_if(identity, [](const auto& each) { return each.second.empty(); });
  return identity;
}

/// Names with several values. An unrecorded value, as of a library that only one backend uses, is
/// not a difference.
std::set<std::string> differing(std::span<const ResultFile> results) {
  std::map<std::string, std::set<std::string>> values;
  for (const ResultFile& file : results) {
    if (!has_runs(file)) continue;
    for (const auto& [name, value] : identity_of(file.header.environment)) {
      values[name].insert(value);
    }
  }
  std::set<std::string> names;
  for (const auto& [name, all] : values) {
    if (all.size() > 1) names.insert(name);
  }
  return names;
}

std::string described(const Identity& identity) {
  std::vector<std::string> parts;
  for (const auto& [name, value] : identity) parts.push_back(name + " " + value);
  return parts.empty() ? "not recorded" : fmt::format("{}", fmt::join(parts, ", "));
}

}  // namespace

bool has_runs(const ResultFile& file) {
  return std::ranges::any_of(file.measurements,
                             [](const Measurement& each) { return each.benchmark == "e2e"; });
}

void refuse_several_processors(std::span<const ResultFile> results) {
  std::map<std::string, std::string> files;  // the first of each processor
  for (const ResultFile& file : results) {
    const std::string& cpu = file.header.environment.cpu;
    if (has_runs(file) && !cpu.empty()) files.try_emplace(cpu, file.path.string());
  }
  if (files.size() < 2) return;
  std::vector<std::string> processors;
  for (const auto& [cpu, path] : files) processors.push_back(fmt::format("{} in {}", cpu, path));
  throw ConfigError(fmt::format(
      "the trainings are of {} processors ({}), and one validation would mix their errors. Report "
      "on each alone, or compare one with the other.",
      processors.size(), fmt::join(processors, "; ")));
}

Builds builds_of(std::span<const ResultFile> results) {
  Builds builds;
  builds.of_files.resize(results.size());
  const std::set<std::string> names = differing(results);
  if (names.empty()) return builds;
  std::vector<Identity> known;
  std::vector<std::vector<std::string>> files;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (!has_runs(results[i])) continue;
    Identity identity = identity_of(results[i].header.environment);
    std::erase_if(identity, [&](const auto& each) { return !names.contains(each.first); });
    const auto found = std::ranges::find(known, identity);
    const auto at = static_cast<std::size_t>(found - known.begin());
    if (found == known.end()) {
      known.push_back(std::move(identity));
      files.emplace_back();
    }
    files[at].push_back(results[i].path.string());
    builds.of_files[i] = fmt::format("build {}", at + 1);
  }
  for (std::size_t i = 0; i < known.size(); ++i) {
    const std::size_t more = files[i].size() - 1;
    builds.notes.push_back(fmt::format(
        "build {}: {} ({}{})", i + 1, described(known[i]), files[i].front(),
        more == 0 ? "" : " and " + counted(static_cast<long long>(more), "further file")));
  }
  return builds;
}

}  // namespace dlscale::report
