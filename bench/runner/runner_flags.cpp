#include "bench/runner/runner_flags.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {
namespace {

constexpr std::string_view prefix = "--benchmark_";

/// Flags without effect in dlscale's measuring loop, and their replacements.
const std::map<std::string_view, std::string>& refused_flags() {
  static const std::map<std::string_view, std::string> flags{
      {"min_time", fmt::format("each cell is measured until its interval is narrow; use {} and {}",
                               option_name("max_time"), option_name("precision"))},
      {"min_warmup_time", "each cell is warmed up already"},
      {"enable_random_interleaving", "the order is shuffled already, equally on all ranks; " +
                                         option_name("order_seed") + " chooses another"},
      {"perf_counters", "the samples are taken outside of Google Benchmark's counters"},
      {"color", "the table has no colours"},
      {"counters_tabular", "the table always has one column a counter"}};
  return flags;
}

std::string one_of(std::string_view name, const std::string& value,
                   std::span<const std::string_view> allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return value;
  throw ConfigError(fmt::format("{}={} is not known. Write one of {}.", google_flag(name), value,
                                fmt::join(allowed, ", ")));
}

std::string truth(std::string_view name, const std::string& value) {
  static constexpr std::string_view words[] = {"true", "false"};
  return value.empty() ? "true" : one_of(name, value, words);
}

int repetitions(std::string_view name, const std::string& value) {
  int number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  if (error == std::errc() && end == value.data() + value.size() && number >= 1) return number;
  throw ConfigError(fmt::format("{}={} is not a whole number from 1 on. Write {}=5.",
                                google_flag(name), value, google_flag(name)));
}

using Setter = void (*)(RunnerFlags&, std::string_view name, const std::string& value);

const std::map<std::string_view, Setter>& setters() {
  static constexpr std::string_view formats[] = {"console", "json", "csv"};
  static constexpr std::string_view units[] = {"ns", "us", "ms", "s"};
  static const std::map<std::string_view, Setter> table{
      {"filter", [](RunnerFlags& f, auto, auto& v) { f.filter = v; }},
      {"out", [](RunnerFlags& f, auto, auto& v) { f.out = v; }},
      {"format", [](RunnerFlags& f, auto n, auto& v) { f.format = one_of(n, v, formats); }},
      {"out_format", [](RunnerFlags& f, auto n, auto& v) { f.out_format = one_of(n, v, formats); }},
      {"time_unit", [](RunnerFlags& f, auto n, auto& v) { f.time_unit = one_of(n, v, units); }},
      {"repetitions", [](RunnerFlags& f, auto n, auto& v) { f.repetitions = repetitions(n, v); }},
      {"list_tests", [](RunnerFlags& f, auto n, auto& v) { f.list_tests = truth(n, v); }},
      {"report_aggregates_only",
       [](RunnerFlags& f, auto n, auto& v) { f.report_aggregates_only = truth(n, v); }},
      {"display_aggregates_only",
       [](RunnerFlags& f, auto n, auto& v) { f.display_aggregates_only = truth(n, v); }}};
  return table;
}

[[noreturn]] void refuse(std::string_view flag, std::string_view name) {
  if (const auto found = refused_flags().find(name); found != refused_flags().end()) {
    throw ConfigError(fmt::format("{} has no effect here: {}.", flag, found->second));
  }
  std::vector<std::string> known;
  for (const auto& [known_name, setter] : setters()) known.push_back(google_flag(known_name));
  throw ConfigError(
      fmt::format("{} is not a flag of the runner. Known are {}.", flag, fmt::join(known, ", ")));
}

void apply(const std::string& flag, RunnerFlags& flags) {
  const std::size_t equals = std::min(flag.find('='), flag.size());
  if (!flag.starts_with(prefix)) refuse(flag, {});
  const std::string_view name = std::string_view(flag).substr(0, equals).substr(prefix.size());
  const auto setter = setters().find(name);
  if (setter == setters().end()) refuse(flag, name);
  const bool optional_value = name == "list_tests" || name.ends_with("aggregates_only");
  if (equals == flag.size() && !optional_value) {
    throw ConfigError(fmt::format("{} lacks a value. Write {}=VALUE.", flag, flag));
  }
  setter->second(flags, setter->first, equals == flag.size() ? "" : flag.substr(equals + 1));
}

}  // namespace

std::string google_flag(std::string_view name) {
  return fmt::format("{}{}", prefix, name);
}

RunnerFlags parse_runner_flags(const std::vector<std::string>& flags) {
  RunnerFlags result;
  for (const std::string& flag : flags) apply(flag, result);
  return result;
}

std::vector<std::string> command_line(const RunnerFlags& flags) {
  const std::pair<std::string_view, std::string> values[] = {
      {"filter", flags.filter},
      {"out", flags.out},
      {"out_format", flags.out_format},
      {"time_unit", flags.time_unit},
      {"repetitions", std::to_string(flags.repetitions)},
      {"list_tests", flags.list_tests},
      {"report_aggregates_only", flags.report_aggregates_only},
      {"display_aggregates_only", flags.display_aggregates_only}};
  std::vector<std::string> line{"dlscale"};
  for (const auto& [name, value] : values) {
    line.push_back(fmt::format("{}={}", google_flag(name), value));
  }
  return line;
}

}  // namespace dlscale::bench
