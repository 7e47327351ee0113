// Files of some hundred kilobytes whose reading took minutes, since its work grew with the square
// of a part's size or doubled with each column; and a crash.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "regression/history/run.hpp"
#include "regression/history/series_key.hpp"
#include "tests/regression/history/histories.hpp"

namespace dlscale::regression::history {
namespace {

std::string repeated(std::size_t times, const std::function<std::string(std::size_t)>& part) {
  std::string text;
  for (std::size_t i = 0; i < times; ++i) text += part(i);
  return text;
}

/// Processor time, since other programs may be busy, too.
double seconds_to_read(const std::string& text) {
  const samples::TemporaryFolder folder;
  samples::write_text(folder / "run", text);
  RunOptions options;
  options.commit = "c1";
  options.time = 0;
  options.axes = {{"collective", "all_reduce"}};
  const std::clock_t start = std::clock();
  try {
    (void)read_run((folder / "run").string(), options);
  } catch (const ConfigError&) {
    // A refusal must be as quick.
  }
  return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

const std::string nccl_row = "1024 256 float sum -1 45.80 0.02 0.02 0 43.80 0.02 0.03 0\n";

TEST(LargeFiles, AreReadInTimeProportionalToTheirSize) {
  const auto columns = [](std::size_t i) { return fmt::format(" column{}", i); };
  const auto blanks = [](std::size_t) { return "\xC2\xA0"; };
  const auto key = [](std::size_t i) { return fmt::format(R"("counter{}":1,)", i); };
  const auto result = [](std::size_t i) {
    return fmt::format(R"({}{{"command":"train --layers={}","times":[1,2]}})", i > 0 ? "," : "", i);
  };
  const auto start = [](std::size_t i) {
    return fmt::format(":::MLLOG {{\"key\":\"run_start\",\"time_ms\":{}}}\n", i);
  };
  const std::vector<std::pair<std::string_view, std::string>> files{
      {"columns of nccl-tests", "# nThread 1\n# size count type" + repeated(24, columns) +
                                    " time algbw busbw #wrong time algbw busbw #wrong\n" +
                                    nccl_row},
      {"blanks that do not break", "# nThread 1\n" + repeated(300'000, blanks) + "\n" + nccl_row},
      {"counters of Google Benchmark", R"({"context":{},"benchmarks":[{)" + repeated(20'000, key) +
                                           R"("name":"a","real_time":1,"time_unit":"ns"}]})"},
      {"results of hyperfine", "{\"results\":[" + repeated(8'000, result) + "]}"},
      {"trainings that never ended", repeated(20'000, start)}};
  constexpr double most_s = 6;  // with sanitizers, and on a slow machine
  for (const auto& [name, text] : files) EXPECT_LT(seconds_to_read(text), most_s) << name;
}

/// JSON of nccl-tests became text by way of values that nest.
TEST(LargeFiles, OfNcclTestsMayNotNestDeep) {
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const samples::TemporaryFolder folder;
  samples::write_text(folder / "run", R"({"nccl_version":)" + deep + "}");
  EXPECT_THROW((void)read_run((folder / "run").string(), {}), ConfigError);
}

/// Written as U+FFFD, such a name sorts elsewhere.
TEST(SeriesKeys, WithInvalidBytesAreTheSameOnceWritten) {
  for (const std::string_view name : {"\xE3", "a\xFF", "\xC3(", "\xED\xA0\x80", "\xF4\x90"}) {
    SeriesKey key;
    key.suite = "nccl-tests";
    key.axes = {{std::string(name), "1"}, {"\xEE\x80\x80", "2"}, {"b", "\xE3"}};
    key.environment = key.axes;
    EXPECT_EQ(parse_series_key(key.text()).text(), key.text());
    EXPECT_EQ(parse_series_key(key.text()).id(), key.id());
  }
}

}  // namespace
}  // namespace dlscale::regression::history
