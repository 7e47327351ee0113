#include "report/results/environment_rows.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <ranges>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/text/quantity_text.hpp"

namespace dlscale::report {
namespace {

/// Whether a property varies from run to run without affecting any number.
bool is_of_the_moment(const std::string& property) {
  return property == "date" || property == "load";
}

/// The first number of a text; 0 without one.
double first_number(const std::string& text) {
  return std::strtod(text.c_str(), nullptr);
}

/// All values, or how far those reach that differ from run to run.
std::string joined_values(const std::string& name, const std::set<std::string>& values) {
  constexpr std::size_t most = 8;
  if (name == "date" && values.size() > 1) {
    return fmt::format("{} – {}", *values.begin(), *values.rbegin());
  }
  if (name == "load" && values.size() > 1) {
    const auto [least, largest] = std::ranges::minmax_element(values, {}, first_number);
    return fmt::format("{:.2f} – {:.2f} in a minute before {} runs", first_number(*least),
                       first_number(*largest), values.size());
  }
  if (values.size() <= most) return fmt::format("{}", fmt::join(values, ", "));
  return fmt::format("{} and {} more", fmt::join(values | std::views::take(most), ", "),
                     values.size() - most);
}

}  // namespace

std::vector<std::string> shown_names(std::span<const ResultFile> files) {
  std::map<std::string, int> counts;
  for (const ResultFile& file : files) ++counts[file.path.filename().string()];
  std::vector<std::string> names;
  names.reserve(files.size());
  for (const ResultFile& file : files) {
    const std::string name = file.path.filename().string();
    const std::string folder = file.path.parent_path().filename().string();
    names.push_back(counts[name] < 2 || folder.empty() ? name : fmt::format("{}/{}", folder, name));
  }
  return names;
}

NamedTexts environment_rows(const Environment& environment) {
  NamedTexts rows;
  const auto add = [&rows](const std::string& name, const std::string& value) {
    if (!value.empty()) rows.emplace_back(name, value);
  };
  add("date", environment.date);
  add("host", environment.host_hash);
  add("cpu", environment.cpu);
  if (environment.cores > 0) add("cores", std::to_string(environment.cores));
  add("affinity", environment.affinity);
  if (environment.memory_bytes > 0) add("memory", to_text(Bytes(environment.memory_bytes)));
  add("kernel", environment.kernel);
  add("governor", environment.governor);
  add("denormals", environment.denormals);
  add("compiler", environment.compiler);
  add("flags", environment.flags);
  const std::string dirty = environment.dirty ? " with local changes" : "";
  if (!environment.commit.empty()) add("commit", environment.commit + dirty);
  add("load", environment.load);
  for (const auto& [name, version] : environment.libraries) add(name, version);
  for (const auto& [name, value] : environment.variables) add(name, value);
  return rows;
}

NamedTexts joined_environment(std::span<const ResultFile> files) {
  std::vector<std::pair<std::string, std::set<std::string>>> values;
  for (const ResultFile& file : files) {
    for (const auto& [name, value] : environment_rows(file.header.environment)) {
      const auto same = [&name = name](const auto& row) { return row.first == name; };
      auto found = std::ranges::find_if(values, same);
      if (found == values.end()) found = values.insert(values.end(), {name, {}});
      found->second.insert(value);
    }
  }
  NamedTexts rows;
  for (const auto& [name, set] : values) rows.emplace_back(name, joined_values(name, set));
  return rows;
}

std::vector<EnvironmentDifference> environment_differences(std::span<const ResultFile> results) {
  std::vector<EnvironmentDifference> all;
  const std::vector<std::string> shown = shown_names(results);
  std::vector<NamedTexts> rows;
  std::vector<std::string> names;
  for (const ResultFile& file : results) {
    rows.push_back(environment_rows(file.header.environment));
    for (const auto& [name, value] : rows.back()) {
      const bool known = std::ranges::find(names, name) != names.end();
      if (!known && !is_of_the_moment(name)) names.push_back(name);
    }
  }
  for (const std::string& name : names) {
    EnvironmentDifference difference{name, {}};
    for (std::size_t i = 0; i < results.size(); ++i) {
      const auto found = std::ranges::find(rows[i], name, &NamedTexts::value_type::first);
      difference.files[found == rows[i].end() ? "" : found->second].push_back(shown[i]);
    }
    if (difference.files.size() > 1) all.push_back(std::move(difference));
  }
  return all;
}

}  // namespace dlscale::report
