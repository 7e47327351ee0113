#include "report/results/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>

#include "core/text/numbers.hpp"

namespace dlscale::report {
namespace {

std::map<std::string, int> count_remarks(std::span<const Measurement> measurements) {
  std::map<std::string, int> counts;
  for (const Measurement& measurement : measurements) {
    if (measurement.status != Status::ok) {
      const std::string word(status_name(measurement.status));
      ++counts[measurement.reason.empty() ? word : word + ": " + measurement.reason];
    }
    for (const std::string& warning : measurement.warnings) ++counts["warning: " + warning];
  }
  return counts;
}

}  // namespace

std::vector<std::string> remarks(std::span<const Measurement> measurements, std::size_t most) {
  const std::map<std::string, int> counts = count_remarks(measurements);
  std::vector<std::pair<std::string, int>> ordered(counts.begin(), counts.end());
  std::ranges::stable_sort(ordered, std::greater{}, &std::pair<std::string, int>::second);
  std::vector<std::string> lines;
  for (const auto& [text, count] : ordered) {
    if (lines.size() == most) {
      lines.push_back(fmt::format("and {} more, which the results have",
                                  counted(std::ssize(ordered) - std::ssize(lines), "remark")));
      break;
    }
    lines.push_back(fmt::format("{} ({})", text, counted(count, "cell")));
  }
  return lines;
}

}  // namespace dlscale::report
