#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <string>

#include "core/base/error.hpp"
#include "train/trainer.hpp"

namespace dlscale::train {
namespace {

namespace fs = std::filesystem;

Span span(Span::Lane lane, std::string name, double start_s, double duration_s, double bytes = 0) {
  return {lane, std::move(name), "what", Seconds(start_s), Seconds(duration_s), bytes};
}

class Trace : public testing::Test {
 protected:
  nlohmann::json written(const std::vector<Span>& spans) {
    write_trace(path_, 3, spans);
    std::ifstream file(path_);
    return nlohmann::json::parse(file);
  }
  Trace() = default;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;
  ~Trace() override { fs::remove(path_); }

 private:
  fs::path path_ = fs::path(testing::TempDir()) / "dlscale_trace_test.json";
};

TEST_F(Trace, HoldsEverySpanInMicroseconds) {
  const auto json = written({span(Span::Lane::compute, "conv \"1\"", 0.001, 0.0025),
                             span(Span::Lane::comm, "fc", 0.002, 0.5, 4096)});
  std::map<std::string, nlohmann::json> events;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "X") events[event.at("name")] = event;
  }
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events["conv \"1\""].at("ts"), 1000.0);
  EXPECT_EQ(events["conv \"1\""].at("dur"), 2500.0);
  EXPECT_EQ(events["conv \"1\""].at("pid"), 3);
  EXPECT_EQ(events["fc"].at("args").at("bytes"), 4096.0);
  EXPECT_NE(events["fc"].at("tid"), events["conv \"1\""].at("tid"));
}

TEST_F(Trace, PutsLoaderThreadsThatWorkAtOnceOnRowsOfTheirOwn) {
  const auto json =
      written({span(Span::Lane::loader, "a", 0, 2), span(Span::Lane::loader, "b", 1, 2),
               span(Span::Lane::loader, "c", 2, 1)});
  std::map<std::string, int> row;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "X") row[event.at("name")] = event.at("tid");
  }
  EXPECT_NE(row["a"], row["b"]);
  EXPECT_EQ(row["a"], row["c"]);
}

TEST_F(Trace, NamesRankAndRows) {
  const auto json = written({span(Span::Lane::comm, "fc", 0, 1)});
  std::vector<std::string> names;
  for (const auto& event : json.at("traceEvents")) {
    if (event.at("ph") == "M") names.push_back(event.at("args").at("name"));
  }
  EXPECT_EQ(names, (std::vector<std::string>{"communication", "rank 3"}));
}

TEST_F(Trace, OfNothingIsStillValid) {
  EXPECT_EQ(written({}).at("traceEvents").size(), 1U);
}

TEST(WriteTrace, SaysSoIfTheFileCannotBeWritten) {
  EXPECT_THROW(write_trace("/nowhere/at/all/trace.json", 0, {}), ConfigError);
}

TEST(WriteTrace, WaitsForNoReaderOfAPipe) {
  const fs::path pipe =
      fs::path(testing::TempDir()) / ("dlscale_trace_" + std::to_string(getpid()));
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_THROW(write_trace(pipe, 0, {}), ConfigError);
  fs::remove(pipe);
}

TEST(WriteTrace, SaysSoIfTheDiskIsFull) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full here";
  EXPECT_THROW(write_trace("/dev/full", 0, {}), ConfigError);
}

}  // namespace
}  // namespace dlscale::train
