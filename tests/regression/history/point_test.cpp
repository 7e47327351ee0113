#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/text/time_text.hpp"
#include "histories.hpp"
#include "regression/history/point.hpp"
#include "regression/history/series_key.hpp"

namespace dlscale::regression::history {
namespace {

Point sample() {
  Point point;
  point.time = 1'700'000'000;
  point.commit = "c0ffee";
  point.run = "0123456789abcdef";
  point.part = 2;
  point.summary = {1.5e-3, 1e-5, 1.4e-3, 1.6e-3, 1.3e-3, 1.9e-3, 12};
  return point;
}

void expect_same(const Point& a, const Point& b) {
  EXPECT_EQ(a.time, b.time);
  EXPECT_EQ(a.commit, b.commit);
  EXPECT_EQ(a.run, b.run);
  EXPECT_EQ(a.part, b.part);
  EXPECT_EQ(a.summary.median, b.summary.median);
  EXPECT_EQ(a.summary.mad, b.summary.mad);
  EXPECT_EQ(a.summary.ci95_low, b.summary.ci95_low);
  EXPECT_EQ(a.summary.ci95_high, b.summary.ci95_high);
  EXPECT_EQ(a.summary.min, b.summary.min);
  EXPECT_EQ(a.summary.max, b.summary.max);
  EXPECT_EQ(a.summary.n, b.summary.n);
  EXPECT_EQ(a.extras, b.extras);
  EXPECT_EQ(a.ancestors, b.ancestors);
  EXPECT_EQ(a.rounding, b.rounding);
}

std::string without_break(const std::string& line) {
  return line.substr(0, line.size() - 1);
}

TEST(Point, ComesBackFromItsLineToTheLastBit) {
  std::mt19937 generator(1);
  std::uniform_real_distribution<double> exponent(-300, 300);
  for (int i = 0; i < 200; ++i) {
    Point point = sample();
    const double median = std::pow(10.0, exponent(generator));
    point.summary = {median, 1e-5, median, median, -std::pow(10.0, exponent(generator)),
                     median, 12};
    point.ancestors = i % 3 == 0 ? 0 : 12345678 + static_cast<std::uint64_t>(i);
    point.rounding = i % 2 == 0 ? 0 : median / 7;
    expect_same(parse_point(without_break(point_line(point))), point);
  }
}

TEST(Point, IsReadAlikeByTheScannerAndTheParser) {
  Point point = sample();
  expect_same(parse_point(without_break(point_line(point))), point);
  // Sorted by name and with spaces, as another program would write it.
  const std::string pretty = nlohmann::json::parse(point_line(point)).dump(1);
  expect_same(parse_point(pretty), point);
  point.extras = R"({"throttle_reasons":[0,4]})";
  expect_same(parse_point(without_break(point_line(point))), point);
  point.extras.clear();
  point.commit = "ü \"quoted\" \\ \n";
  expect_same(parse_point(without_break(point_line(point))), point);
}

TEST(Point, RefusesDamage) {
  const std::string line = without_break(point_line(sample()));
  for (std::size_t length = 0; length < line.size(); ++length) {
    EXPECT_THROW((void)parse_point(line.substr(0, length)), ConfigError) << length;
  }
  EXPECT_THROW((void)parse_point(line + "}"), ConfigError);
  for (const char* number : {"nan", "inf", "1e999", "\"1\"", "null"}) {
    std::string damaged = line;
    const std::size_t at = damaged.find("0.0015");
    ASSERT_NE(at, std::string::npos);
    EXPECT_THROW((void)parse_point(damaged.replace(at, 6, number)), ConfigError) << number;
  }
}

TEST(Point, RefusesNumbersThatNoSampleHas) {
  const std::string line = without_break(point_line(sample()));
  // A space more is JSON all the same, which the parser reads.
  for (const std::string_view space : {"", " "}) {
    for (const auto& [whole, damaged] :
         {std::pair{"\"n\":12", "\"n\":0"}, std::pair{"\"n\":12", "\"n\":-3"},
          std::pair{"\"n\":12", "\"n\":1e30"}, std::pair{"\"n\":12", "\"n\":12.5"},
          std::pair{"\"low\":0.0014", "\"low\":9"}, std::pair{"\"high\":0.0016", "\"high\":0"},
          std::pair{"\"min\":0.0013", "\"min\":1"}, std::pair{"\"max\":0.0019", "\"max\":0.001"},
          std::pair{"\"mad\":1e-05", "\"mad\":-1"}, std::pair{"\"part\":2", "\"part\":-1"},
          std::pair{"\"part\":2", "\"part\":3000000000"}, std::pair{"\"part\":2", "\"part\":0.5"},
          std::pair{"c0ffee", ""}}) {
      std::string text = line;
      const std::size_t at = text.find(whole);
      ASSERT_NE(at, std::string::npos) << whole;
      text.replace(at, std::string_view(whole).size(), damaged).insert(text.size() - 1, space);
      EXPECT_THROW((void)parse_point(text), ConfigError) << text;
    }
  }
}

TEST(Point, IsNotWrittenWithANumberThatIsNone) {
  Point point = sample();
  point.summary.median = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW((void)point_line(point), std::logic_error);
}

/// The commits of points that were added in an order, in the order of by_commit().
std::vector<std::string> ordered(std::vector<Point> points, bool backwards) {
  if (backwards) std::ranges::reverse(points);
  std::vector<std::string> commits;
  for (const CommitPoint& commit : by_commit(std::move(points))) commits.push_back(commit.commit);
  return commits;
}

// A rebase makes many commits in one second, and a history is filled backwards as well.
TEST(Commits, HaveAnOrderThatTheOrderOfAddingDoesNotChange) {
  struct Case {
    const char* what;
    std::array<std::int64_t, 4> times;
    std::array<std::uint64_t, 4> ancestors;
    std::vector<std::string> expected;
  };
  const std::vector<Case> cases{
      {"one second, ancestry known", {5, 5, 5, 5}, {4, 3, 1, 2}, {"c", "d", "b", "a"}},
      {"one second, ancestry unknown", {5, 5, 5, 5}, {0, 0, 0, 0}, {"a", "b", "c", "d"}},
      {"clocks that were wrong", {9, 7, 5, 8}, {1, 2, 3, 4}, {"a", "b", "c", "d"}},
      {"ancestry known of some", {9, 7, 7, 8}, {0, 3, 2, 0}, {"c", "b", "d", "a"}},
      {"times alone", {9, 7, 5, 8}, {0, 0, 0, 0}, {"c", "b", "d", "a"}}};
  for (const Case& one : cases) {
    std::vector<Point> points;
    for (std::size_t i = 0; i < 4; ++i) {
      Point point = sample();
      point.commit = std::string(1, static_cast<char>('a' + i));
      point.time = one.times.at(i);
      point.ancestors = one.ancestors.at(i);
      points.push_back(point);
    }
    EXPECT_EQ(ordered(points, false), one.expected) << one.what;
    EXPECT_EQ(ordered(points, true), one.expected) << one.what;
  }
}

TEST(TimeText, ComesBackAndKnowsZonesAndTheCalendar) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time_text(1'700'000'000), "2023-11-14T22:13:20Z");
  EXPECT_EQ(parse_time("2023-11-14T22:13:20Z", "it"), 1'700'000'000);
  EXPECT_EQ(parse_time("2023-11-15T00:13:20+02:00", "it"), 1'700'000'000);
  EXPECT_EQ(parse_time("2023-11-14T16:43:20-05:30", "it"), 1'700'000'000);
  EXPECT_EQ(parse_time("2024-02-29", "it"), parse_time("2024-02-29T00:00:00Z", "it"));
  for (const char* text :
       {"", "yesterday", "2023-02-29", "2023-11-14T25:00:00Z", "2023-11-14T22:13:20",
        "2023-11-14T22:13:20Zx", "2023-13-01", "1969-12-31", "1970-01-01T00:00:00+01:00",
        "9999-12-31T23:59:59-01:00"}) {
    EXPECT_THROW((void)parse_time(text, "--time"), ConfigError) << text;
  }
}

TEST(TimeText, TakesHowLongAgo) {
  const std::int64_t now = parse_time("2026-03-31T10:20:30Z", "it");
  const auto ago = [now](std::string_view text) {
    return time_text(parse_since(text, "--since", now));
  };
  EXPECT_EQ(ago("10 days"), "2026-03-21T10:20:30Z");
  EXPECT_EQ(ago("2 weeks"), "2026-03-17T10:20:30Z");
  EXPECT_EQ(ago("1week"), "2026-03-24T10:20:30Z");
  EXPECT_EQ(ago("3 months"), "2025-12-31T10:20:30Z");
  EXPECT_EQ(ago("1 month"), "2026-02-28T10:20:30Z");  // which has no 31st
  EXPECT_EQ(ago("25 months"), "2024-02-29T10:20:30Z");
  EXPECT_EQ(ago("1 year"), "2025-03-31T10:20:30Z");
  EXPECT_EQ(ago("0 days"), "2026-03-31T10:20:30Z");
  EXPECT_EQ(ago("2026-01-31"), "2026-01-31T00:00:00Z");
  EXPECT_LT(parse_since("100 years", "--since", now), 0);
  EXPECT_LT(parse_since("9999 years", "--since", now), 0);
}

TEST(TimeText, RefusesWhatIsNeitherATimeNorSoLongAgo) {
  for (const char* text :
       {"", "weeks", "2", "2 ", "-2 weeks", "2.5 weeks", "2  weeks", "2 fortnights", "10000 days",
        "2 dayss", "2 s", " 2 weeks", "2\nweeks"}) {
    try {
      (void)parse_since(text, "--since", 0);
      FAIL() << text;
    } catch (const ConfigError& error) {
      EXPECT_NE(std::string_view(error.what()).find("days, weeks, months or years"),
                std::string_view::npos)
          << error.what();
    }
  }
}

// FIPS 180-4's examples, and a content of many blocks (a million times "a").
TEST(Sha256, AgreesWithThePublishedExamples) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(SeriesKey, ComesBackFromItsText) {
  SeriesKey key = samples::kernel();
  key.axes["odd \"name\"\n"] = "ü, =, \\";
  key.direction = Direction::steady;
  EXPECT_EQ(parse_series_key(key.text()), key);
  EXPECT_EQ(key.text().find('\n'), std::string::npos);
}

TEST(SeriesKey, AnyDifferenceMakesAnotherSeries) {
  std::set<std::string> ids{samples::kernel().id()};
  const auto expect_other = [&](auto change) {
    SeriesKey key = samples::kernel();
    change(key);
    EXPECT_TRUE(ids.insert(key.id()).second) << key.text();
  };
  expect_other([](SeriesKey& key) { key.suite = "gemm"; });
  expect_other([](SeriesKey& key) { key.axes["batch"] = "16"; });
  expect_other([](SeriesKey& key) { key.metric = "give"; });
  expect_other([](SeriesKey& key) { key.unit = "1"; });
  expect_other([](SeriesKey& key) { key.direction = Direction::larger_is_better; });
  expect_other([](SeriesKey& key) { key.machine["cores"] = "4"; });
  expect_other([](SeriesKey& key) { key.environment["oneDNN"] = "3.0"; });
  expect_other([](SeriesKey& key) { key.launch["ranks"] = "2"; });
}

TEST(SeriesKey, AsksTheSameQuestionInAnyEnvironment) {
  SeriesKey key = samples::kernel();
  key.environment["oneDNN"] = "3.0";
  EXPECT_EQ(key.question(), samples::kernel().question());
  EXPECT_NE(key.environment_id(), samples::kernel().environment_id());
  EXPECT_EQ(differences(samples::kernel().environment, key.environment), "oneDNN: 2.6.3 → 3.0");
}

TEST(SeriesKey, HasANameThatEveryFileSystemTakes) {
  SeriesKey key = samples::kernel();
  key.suite = "../Google Benchmark/ü";
  const std::string stem = key.file_stem();
  EXPECT_EQ(stem.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789-_"), std::string::npos);
  EXPECT_TRUE(stem.ends_with(key.id()));
}

TEST(SeriesKey, RefusesWhatIsNone) {
  EXPECT_THROW((void)parse_series_key("{}"), ConfigError);
  EXPECT_THROW((void)parse_series_key("[]"), ConfigError);
  EXPECT_THROW((void)parse_series_key("{\"suite\":"), ConfigError);
  std::string text = samples::kernel().text();
  EXPECT_THROW((void)parse_series_key(text.replace(text.find("smaller"), 7, "best...")),
               ConfigError);
  text = samples::kernel().text();
  EXPECT_THROW((void)parse_series_key(text.replace(0, 1, "{\"colour\":\"red\",")), ConfigError);
}

}  // namespace
}  // namespace dlscale::regression::history
