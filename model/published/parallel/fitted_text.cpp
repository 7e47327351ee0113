#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "model/published/parallel/leave_out.hpp"
#include "model/roofline/sheet/kernel_constants.hpp"

namespace dlscale::model::parallel_time {
namespace {

/// A text in quotes, as in YAML and JSON.
std::string in_quotes(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The key of a line "  key: {…}", or an empty text.
std::string_view key_of(std::string_view line) {
  const std::size_t end = line.find(": {");
  return line.starts_with("  ") && end != std::string_view::npos ? line.substr(2, end - 2)
                                                                 : std::string_view();
}

/// The file with other constants in its section of fitted ones, whose comments stay.
std::string with_constants_of(std::string_view file, const ParallelTimeFile& fitted) {
  std::string text;
  bool inside = false;
  while (!file.empty()) {
    const std::size_t length = std::min(file.find('\n'), file.size() - 1) + 1;
    const std::string_view line = file.substr(0, length);
    file.remove_prefix(length);
    if (line.front() >= 'a' && line.front() <= 'z') inside = line.starts_with("fitted:");
    const auto constant = inside ? fitted.fitted.find(key_of(line)) : fitted.fitted.end();
    if (constant == fitted.fitted.end()) {
      text += line;
    } else {
      text += fmt::format("  {}\n", sheet::fitted_text(constant->first, constant->second));
    }
  }
  return text;
}

/// "{product: 0.84, …}"
std::string numbers_text(const TimeConstants& constants) {
  std::vector<std::string> each;
  for (const TimeConstantKey& key : fitted_time_constants()) {
    each.push_back(fmt::format("{}: {:.5g}", key.key, constants.*key.value));
  }
  return fmt::format("{{{}}}", fmt::join(each, ", "));
}

}  // namespace

std::string fitted_text(std::string_view file, const ParallelFit& fit,
                        std::span<const std::string> cases) {
  std::vector<std::string> names;
  for (const std::string& name : cases) names.push_back(in_quotes(name));
  std::string sets = "sets:\n";
  for (const auto& [set, count] : fit.sets) {
    sets += fmt::format("  - {{set: {}, trainings: {}}}\n", in_quotes(set), count);
  }
  std::string without = "without:  # fits that have not seen a set, for its own trainings\n";
  for (const auto& [set, constants] : fit.file.without) {
    without +=
        fmt::format("  - set: {}\n    fitted: {}\n", in_quotes(set), numbers_text(constants));
  }
  std::string text =
      sheet::with_section(file, "cases", fmt::format("cases: [{}]\n", fmt::join(names, ", ")));
  text = sheet::with_section(text, "sets", sets);
  return sheet::with_section(with_constants_of(text, fit.file), "without", without);
}

}  // namespace dlscale::model::parallel_time
