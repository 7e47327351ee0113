#include "report/results/measured_place.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "regression/import/result_run.hpp"

namespace dlscale::report {
namespace {

/// False for placeholders of unknown values, as in files of Google Benchmark.
bool is_known(const std::string& value) {
  return !value.empty() && value != "unknown" && value != "0" && value != "0 GiB";
}

}  // namespace

void add_place(MeasuredPlace& place, const ResultHeader& header) {
  history::Facts facts = history::machine_facts(header);
  facts.merge(history::launch_facts(header));
  facts.erase("comm");
  for (const auto& [name, value] : facts) {
    if (is_known(value)) place[name].insert(value);
  }
}

std::vector<std::string> place_differences(const MeasuredPlace& a, const MeasuredPlace& b) {
  std::vector<std::string> lines;
  for (const auto& [name, values] : a) {
    const auto other = b.find(name);
    if (other == b.end() || other->second == values) continue;
    lines.push_back(
        fmt::format("{}: {} | {}", name, fmt::join(values, ", "), fmt::join(other->second, ", ")));
  }
  return lines;
}

}  // namespace dlscale::report
