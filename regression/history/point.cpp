#include "regression/history/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/time_text.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

constexpr std::array summary_fields{
    std::pair{"median", &Summary::median}, std::pair{"mad", &Summary::mad},
    std::pair{"low", &Summary::ci95_low},  std::pair{"high", &Summary::ci95_high},
    std::pair{"min", &Summary::min},       std::pair{"max", &Summary::max}};

/// The order statistics of a sample are sorted; any other order is damage.
bool is_sorted(const Summary& summary) {
  return summary.min <= summary.ci95_low && summary.ci95_low <= summary.median &&
         summary.median <= summary.ci95_high && summary.ci95_high <= summary.max;
}

/// Why the numbers are not a summary; empty if they are.
std::string problem_of(const Point& point) {
  if (point.commit.empty()) return "\"commit\" is empty, and a history is one of commits";
  if (point.summary.n == 0) return "\"n\" is 0, and a point has samples";
  if (point.summary.mad < 0) return fmt::format("\"mad\" is {}, below 0", point.summary.mad);
  return is_sorted(point.summary) ? ""
                                  : "its numbers are not in the order min, low, median, high, max";
}

template <class Number>
Number whole(const json& value, const char* field) {
  constexpr auto most = static_cast<std::uint64_t>(std::numeric_limits<Number>::max());
  if (value.is_number_unsigned() && value.get<std::uint64_t>() <= most) return value.get<Number>();
  throw ConfigError(
      fmt::format("\"{}\" is {}, which is not a count", field, escape_for_terminal(value.dump())));
}

Point read_point(const json& value) {
  Point point;
  point.time = parse_time(value.at("time").get<std::string>(), "\"time\"");
  point.commit = value.at("commit");
  point.run = value.at("run");
  point.part = whole<int>(value.at("part"), "part");
  for (const auto& [field, member] : summary_fields) {
    point.summary.*member = value.at(field).get<double>();
  }
  point.summary.n = whole<std::size_t>(value.at("n"), "n");
  if (value.contains("extras")) point.extras = value.at("extras").dump();
  if (const std::string problem = problem_of(point); !problem.empty()) throw ConfigError(problem);
  return point;
}

/// A text as a JSON string.
std::string quoted(const std::string& text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

std::string point_line(const Point& point) {
  std::string line =
      fmt::format("{{\"time\":\"{}\",\"commit\":{},\"run\":{},\"part\":{}", time_text(point.time),
                  quoted(point.commit), quoted(point.run), point.part);
  for (const auto& [field, member] : summary_fields) {
    EXPECT(std::isfinite(point.summary.*member));
    line += fmt::format(",\"{}\":{}", field, point.summary.*member);
  }
  line += fmt::format(",\"n\":{}", point.summary.n);
  if (!point.extras.empty()) line += fmt::format(",\"extras\":{}", point.extras);
  return line + "}\n";
}

Point parse_point(std::string_view line) {
  try {
    const json value = json::parse(line);
    if (!value.is_object()) {
      throw ConfigError(fmt::format("{} is not a JSON object", escape_for_terminal(line)));
    }
    return read_point(value);
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, line));
  }
}

std::vector<CommitPoint> by_commit(std::span<const Point> points) {
  std::vector<CommitPoint> commits;
  commits.reserve(points.size());
  std::unordered_map<std::string_view, std::size_t> places;
  places.reserve(points.size());
  for (const Point& point : points) {
    const auto [place, fresh] = places.try_emplace(point.commit, commits.size());
    if (fresh) commits.push_back({point.commit, point.time, {}, 0, point.run});
    CommitPoint& commit = commits[place->second];
    commit.time = std::min(commit.time, point.time);
    commit.runs.push_back(point.summary.median);
  }
  for (CommitPoint& commit : commits) {
    commit.value = commit.runs.size() == 1 ? commit.runs.front() : median(commit.runs);
  }
  std::ranges::stable_sort(commits, {}, &CommitPoint::time);
  return commits;
}

}  // namespace dlscale::regression::history
