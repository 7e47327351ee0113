#include "regression/history/point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/results/json_count.hpp"
#include "core/text/json_problem.hpp"
#include "core/text/time_text.hpp"

namespace dlscale::regression::history {
namespace {

using nlohmann::json;

constexpr std::array summary_fields{
    std::pair{"\"median\":", &Summary::median}, std::pair{"\"mad\":", &Summary::mad},
    std::pair{"\"low\":", &Summary::ci95_low},  std::pair{"\"high\":", &Summary::ci95_high},
    std::pair{"\"min\":", &Summary::min},       std::pair{"\"max\":", &Summary::max}};

/// Scans a line from its start, as long as it has the form that point_line() writes.
class Scanner {
 public:
  explicit Scanner(std::string_view text) : text_(text) {}

  [[nodiscard]] bool literal(std::string_view expected) {
    if (!text_.starts_with(expected)) return false;
    text_.remove_prefix(expected.size());
    return true;
  }
  [[nodiscard]] bool is_done() const { return text_.empty(); }
  /// A text of plain characters; consumes its quotes.
  [[nodiscard]] bool word(std::string_view& value) {
    if (text_.empty() || text_.front() != '"') return false;
    std::size_t end = 1;
    for (; end < text_.size() && text_[end] != '"'; ++end) {
      const auto letter = static_cast<unsigned char>(text_[end]);
      if (letter == '\\' || letter < 0x20 || letter >= 0x7f) return false;
    }
    if (end == text_.size()) return false;
    value = text_.substr(1, end - 1);
    text_.remove_prefix(end + 1);
    return true;
  }
  template <class Number>
  [[nodiscard]] bool number(Number& value) {
    const auto [end, error] = std::from_chars(text_.data(), text_.data() + text_.size(), value);
    if (error != std::errc{}) return false;
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return true;
  }

 private:
  std::string_view text_;
};

/// The order statistics of a sample are sorted; any other order is damage.
bool is_summary(const Summary& summary) {
  return summary.n > 0 && summary.mad >= 0 && summary.min <= summary.ci95_low &&
         summary.ci95_low <= summary.median && summary.median <= summary.ci95_high &&
         summary.ci95_high <= summary.max;
}

bool is_possible(const Point& point) {
  return point.part >= 0 && !point.commit.empty() && is_summary(point.summary) &&
         point.rounding >= 0 && std::isfinite(point.rounding);
}

/// Describes why the numbers are not a summary.
std::string problem_of(const Point& point) {
  if (point.commit.empty()) return "\"commit\" is empty, and a history is one of commits";
  if (point.part < 0) return fmt::format("\"part\" is {}, and parts count from 0", point.part);
  if (point.summary.n == 0) return "\"n\" is 0, and a point has samples";
  if (!(point.rounding >= 0)) return fmt::format("\"rounding\" is {}, below 0", point.rounding);
  if (point.summary.mad < 0) return fmt::format("\"mad\" is {}, below 0", point.summary.mad);
  return "its numbers are not in the order min, low, median, high, max";
}

/// Returns false for anything that may still be JSON. Impossible values, "inf" and "nan" (which
/// from_chars accepts) are left to the parser, which explains the error.
bool scan_point(std::string_view line, Point& point) {
  Scanner scanner(line);
  std::string_view time;
  std::string_view commit;
  std::string_view run;
  if (!scanner.literal("{\"time\":") || !scanner.word(time) || !scanner.literal(",\"commit\":") ||
      !scanner.word(commit) || !scanner.literal(",\"run\":") || !scanner.word(run) ||
      !scanner.literal(",\"part\":") || !scanner.number(point.part)) {
    return false;
  }
  for (const auto& [field, member] : summary_fields) {
    double& value = point.summary.*member;
    if (!scanner.literal(",") || !scanner.literal(field) || !scanner.number(value)) return false;
    if (!std::isfinite(value)) return false;
  }
  if (!scanner.literal(",\"n\":") || !scanner.number(point.summary.n)) return false;
  if (scanner.literal(",\"ancestors\":") && !scanner.number(point.ancestors)) return false;
  if (scanner.literal(",\"rounding\":") && !scanner.number(point.rounding)) return false;
  if (!scanner.literal("}") || !scanner.is_done() || !read_time(time, point.time)) return false;
  point.commit = commit;
  point.run = run;
  return is_possible(point);
}

double finite(const json& value) {
  const auto number = value.get<double>();
  if (!std::isfinite(number)) throw ConfigError("a number of the point is not finite");
  return number;
}

Point read_point(const json& value) {
  Point point;
  point.time = parse_time(value.at("time").get<std::string>(), "\"time\"");
  point.commit = value.at("commit");
  point.run = value.at("run");
  point.part = json_count<int>(value.at("part"), "part");
  point.summary.median = finite(value.at("median"));
  point.summary.mad = finite(value.at("mad"));
  point.summary.ci95_low = finite(value.at("low"));
  point.summary.ci95_high = finite(value.at("high"));
  point.summary.min = finite(value.at("min"));
  point.summary.max = finite(value.at("max"));
  point.summary.n = json_count<std::size_t>(value.at("n"), "n");
  if (value.contains("ancestors")) {
    point.ancestors = json_count<std::uint64_t>(value.at("ancestors"), "ancestors");
  }
  if (value.contains("rounding")) point.rounding = finite(value.at("rounding"));
  if (value.contains("extras")) point.extras = value.at("extras").dump();
  if (!is_possible(point)) throw ConfigError(problem_of(point));
  return point;
}

/// Whether the place of a commit among its ancestors is known.
bool is_placed(const CommitPoint& commit) {
  return commit.ancestors > 0;
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
    line += fmt::format(",{}{}", field, point.summary.*member);
  }
  line += fmt::format(",\"n\":{}", point.summary.n);
  if (point.ancestors > 0) line += fmt::format(",\"ancestors\":{}", point.ancestors);
  if (point.rounding > 0) line += fmt::format(",\"rounding\":{}", point.rounding);
  if (!point.extras.empty()) line += fmt::format(",\"extras\":{}", point.extras);
  return line + "}\n";
}

Point parse_point(std::string_view line) {
  if (Point point; scan_point(line, point)) return point;
  try {
    expect_json_depth(line);
    const json value = json::parse(line);
    if (!value.is_object()) throw ConfigError("this line is not a JSON object");
    return read_point(value);
  } catch (const json::exception& error) {
    throw ConfigError(json_problem(error, line));
  }
}

CommitOrder order_of(std::span<const CommitPoint> commits) {
  return std::ranges::all_of(commits, is_placed) ? CommitOrder::ancestry : CommitOrder::time;
}

bool is_later(const CommitPoint& a, const CommitPoint& b, CommitOrder order) {
  if (order == CommitOrder::ancestry) {
    return std::tie(a.ancestors, a.time, a.commit) > std::tie(b.ancestors, b.time, b.commit);
  }
  return std::tie(a.time, a.ancestors, a.commit) > std::tie(b.time, b.ancestors, b.commit);
}

std::vector<CommitPoint> by_commit(std::vector<Point> points) {
  std::vector<CommitPoint> commits;
  commits.reserve(points.size());
  std::unordered_map<std::string_view, std::size_t> places;  // names of `commits`, which stay put
  places.reserve(points.size());
  for (Point& point : points) {
    auto place = places.find(point.commit);
    if (place == places.end()) {
      commits.push_back({std::move(point.commit), point.time, {}, 0, std::move(point.run)});
      place = places.emplace(commits.back().commit, commits.size() - 1).first;
    } else if (CommitPoint& there = commits[place->second];
               std::tie(point.time, point.run) < std::tie(there.time, there.run)) {
      there.time = point.time;
      there.run = std::move(point.run);
    }
    CommitPoint& commit = commits[place->second];
    commit.ancestors = std::max(commit.ancestors, point.ancestors);
    commit.rounding = std::max(commit.rounding, point.rounding);
    commit.runs.push_back(point.summary.median);
  }
  for (CommitPoint& commit : commits) {
    commit.value = commit.runs.size() == 1 ? commit.runs.front() : median(commit.runs);
  }
  const CommitOrder order = order_of(commits);
  const auto is_before = [order](const CommitPoint& a, const CommitPoint& b) {
    return is_later(b, a, order);
  };
  if (!std::ranges::is_sorted(commits, is_before)) std::ranges::sort(commits, is_before);
  return commits;
}

}  // namespace dlscale::regression::history
