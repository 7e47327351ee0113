#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>
#include <thread>

#include "backend/host/host.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/io/io_cell.hpp"
#include "core/base/error.hpp"
#include "tests/core/support.hpp"
#include "tests/train/data/message.hpp"
#include "tests/train/data/small_set.hpp"

namespace dlscale::bench {
namespace {

using train::config_error;
using train::contains;

StoppingCriterion few_samples() {
  return {.relative_half_width = 0.02,
          .min_samples = 3,
          .max_samples = 3,
          .max_time = Seconds(10),
          .min_warmup = Seconds(0),
          .min_warmups = 1};
}

class BenchIo : public testing::Test {
 protected:
  void SetUp() override { data_ = train::make_data_set(folder_ / "set", train::small_spec()); }

  [[nodiscard]] IoCell cell(FileSource source) const {
    return {std::make_shared<const train::DataSet>(data_),
            {.shape = {3, 16, 24}, .batch = 4, .threads = 2},
            source};
  }
  /// The axes of the cells that options make.
  std::vector<std::map<std::string, std::string>> cells(std::map<std::string, std::string> values) {
    values.try_emplace("data", (folder_ / "set").string());
    const Benchmark* benchmark = family<Benchmark>().find("io");
    auto group = backend::local_group(1);
    Context context = make_context(*benchmark, std::move(values), *group.front());
    std::vector<std::map<std::string, std::string>> axes;
    for (const Cell& one : benchmark->cells(context)) axes.push_back(one.axes);
    return axes;
  }

  test::TemporaryFolder folder_;
  train::DataSet data_;
};

TEST_F(BenchIo, MeasuresEveryPartOfEveryPictureOnAllRanks) {
  const auto group = backend::local_group(2);
  std::vector<Measurement> results(2);
  {
    std::vector<std::jthread> ranks;
    ranks.reserve(results.size());
    for (int rank = 0; rank < 2; ++rank) {
      ranks.emplace_back([&, rank] {
        results[rank] =
            measure_io(cell(FileSource::page_cache), Sampler(*group[rank], few_samples()));
      });
    }
  }
  for (const Measurement& result : results) {
    EXPECT_TRUE(result.status == Status::ok || result.status == Status::unstable);
    EXPECT_EQ(result.at("time").samples.size(), 2U);
    EXPECT_EQ(result.at("time").samples[0].size(), 3U);
    for (const char* part : {"read", "decode", "augment"}) {
      ASSERT_EQ(result.at(part).samples.size(), 2U);
      for (const auto& samples : result.at(part).samples) {
        EXPECT_EQ(samples.size(), 12U);
        for (const double time : samples) EXPECT_GT(time, 0);
      }
    }
    EXPECT_EQ(result.max_relative_error, 0);
    EXPECT_TRUE(contains(result.implementation, "libjpeg-turbo"));
    EXPECT_NEAR(result.work->bytes.si(), 4 * 5000, 2000);
  }
}

/// What two ranks throw.
std::vector<std::string> thrown_by_ranks(const IoCell& cell) {
  const auto group = backend::local_group(2);
  std::vector<std::string> thrown(2);
  std::vector<std::jthread> ranks;
  ranks.reserve(thrown.size());
  for (int rank = 0; rank < 2; ++rank) {
    ranks.emplace_back([&, rank] {
      try {
        static_cast<void>(measure_io(cell, Sampler(*group[rank], few_samples())));
      } catch (const Error& error) {
        thrown[rank] = error.what();
      }
    });
  }
  ranks.clear();
  return thrown;
}

TEST_F(BenchIo, NamesTheDamagedPictureOfOneRankOnAll) {
  const IoCell damaged = cell(FileSource::page_cache);
  for (const int rank : {0, 1}) {
    train::PipelineOptions options = damaged.pipeline;
    options.rank = rank;
    options.ranks = 2;
    const std::size_t picture = train::DataPipeline(data_, options).next().picks[1].picture;
    const std::filesystem::path& path = data_.pictures[picture].path;
    std::filesystem::resize_file(path, std::filesystem::file_size(path) / 2);
    for (const std::string& message : thrown_by_ranks(damaged)) {
      EXPECT_TRUE(contains(message, path.string())) << message;
      EXPECT_TRUE(contains(message, "truncated")) << message;
    }
    SetUp();  // mends it
  }
}

TEST_F(BenchIo, SaysThatFilesCameFromThePageCache) {
  const auto group = backend::local_group(1);
  const Measurement result =
      measure_io(cell(FileSource::page_cache), Sampler(*group.front(), few_samples()));
  EXPECT_TRUE(std::ranges::any_of(
      result.warnings, [](const std::string& warning) { return warning.starts_with("cached:"); }));
}

TEST_F(BenchIo, SaysThatThreadsShareCores) {
  const auto group = backend::local_group(1);
  IoCell crowded = cell(FileSource::page_cache);
  crowded.pipeline.threads = static_cast<int>(backend::usable_cores().size()) + 1;
  const Measurement result = measure_io(crowded, Sampler(*group.front(), few_samples()));
  EXPECT_TRUE(std::ranges::any_of(result.warnings, [](const std::string& warning) {
    return contains(warning, "cores are to be busy");
  }));
}

// Whether storage can be reached depends on the file system; what must hold does not.
TEST_F(BenchIo, GivesNoTimesOfStorageWithoutProof) {
  const auto group = backend::local_group(1);
  const Measurement result =
      measure_io(cell(FileSource::storage), Sampler(*group.front(), few_samples()));
  const bool proven = std::ranges::any_of(
      result.warnings, [](const std::string& warning) { return warning.starts_with("storage:"); });
  EXPECT_EQ(proven, result.status != Status::unsupported);
  EXPECT_EQ(proven, !result.series.empty());
}

TEST(JudgeSource, TakesTimesAwayThatAreNotOfStorage) {
  for (const auto share : {std::optional(0.5), std::optional(0.0), std::optional<double>()}) {
    Measurement measurement;
    measurement.series["read"] = make_series("s", {{1.0}});
    judge_source(measurement, FileSource::storage, share);
    EXPECT_EQ(measurement.status, Status::unsupported);
    EXPECT_TRUE(measurement.series.empty());
    EXPECT_FALSE(measurement.reason.empty());
  }
}

TEST(JudgeSource, KeepsTimesOfStorageAndOfThePageCache) {
  for (const FileSource source : {FileSource::storage, FileSource::page_cache}) {
    Measurement measurement;
    measurement.series["read"] = make_series("s", {{1.0}});
    judge_source(measurement, source, 0.95);
    EXPECT_EQ(measurement.status, Status::ok);
    EXPECT_EQ(measurement.series.size(), 1U);
    ASSERT_EQ(measurement.warnings.size(), 1U);
    EXPECT_TRUE(contains(measurement.warnings.front(), "95.0 %"));
  }
}

TEST_F(BenchIo, CutsToTheInputsOfNetworksOnceEach) {
  std::set<std::string> heights;
  const auto found = cells({{"networks", "googlenet,resnet50,alexnet"}, {"loader_threads", "1,2"}});
  for (const auto& axes : found) heights.insert(axes.at("height"));
  EXPECT_EQ(found.size(), 4U);
  EXPECT_EQ(heights.size(), 2U);
}

TEST_F(BenchIo, CutsToASizeGivenByHand) {
  const auto found = cells({{"height", "30"}, {"width", "50"}, {"source", "page_cache,storage"}});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].at("height"), "30");
  EXPECT_EQ(found[0].at("width"), "50");
  EXPECT_NE(found[0].at("source"), found[1].at("source"));
}

TEST_F(BenchIo, RefusesWhatItCannotMeasure) {
  const auto refusal = [this](const std::map<std::string, std::string>& values) {
    return config_error([&] { cells(values); });
  };
  EXPECT_TRUE(contains(refusal({{"data", ""}}), "data make"));
  EXPECT_TRUE(contains(refusal({{"data", "/no/such/folder"}}), "/no/such/folder"));
  EXPECT_TRUE(contains(refusal({{"height", "30"}}), "--width is missing"));
  EXPECT_TRUE(contains(refusal({{"source", "disk"}}), "page_cache or storage"));
  EXPECT_TRUE(contains(refusal({{"loader_threads", "0"}}), "--loader-threads"));
  EXPECT_TRUE(contains(refusal({{"networks", "no_such_network"}}), "no_such_network"));
}

void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

TEST(Residency, OfAFileJustWrittenIsComplete) {
  const test::TemporaryFolder folder;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  write_text(folder / "file", std::string(3 * page + 1, 'x'));
  const Residency found = residency(folder / "file");
  EXPECT_EQ(found.pages, 4);
  EXPECT_EQ(found.cached, 4);
}

TEST(Residency, OfAnEmptyFileIsNothing) {
  const test::TemporaryFolder folder;
  write_text(folder / "file", "");
  EXPECT_EQ(residency(folder / "file").pages, 0);
}

TEST(Residency, OfAMissingFileIsRefusedByName) {
  test::expect_contains(test::config_error([] { residency("/no/such/file"); }), "/no/such/file");
  EXPECT_THROW(evict("/no/such/file"), ConfigError);
}

// File systems in memory keep their pages; on a device they go.
TEST(Evict, LeavesTheFileAsItIs) {
  const test::TemporaryFolder folder;
  write_text(folder / "file", std::string(100000, 'x'));
  evict(folder / "file");
  const Residency found = residency(folder / "file");
  EXPECT_TRUE(found.cached == 0 || found.cached == found.pages) << found.cached;
  std::string text;
  std::ifstream(folder / "file") >> text;
  EXPECT_EQ(text, std::string(100000, 'x'));
}

TEST(StorageBytesRead, IsWhatTheCounterSays) {
  const test::TemporaryFolder folder;
  write_text(folder / "io", "rchar: 1948\nwchar: 0\nread_bytes: 8192\nwrite_bytes: 77\n");
  EXPECT_EQ(storage_bytes_read(folder / "io"), 8192);
}

TEST(StorageBytesRead, IsUnknownWithoutTheCounter) {
  const test::TemporaryFolder folder;
  EXPECT_EQ(storage_bytes_read(folder / "missing"), std::nullopt);
  write_text(folder / "io", "rchar: 1948\n");
  EXPECT_EQ(storage_bytes_read(folder / "io"), std::nullopt);
}

}  // namespace
}  // namespace dlscale::bench
