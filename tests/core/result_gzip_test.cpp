#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "tests/core/gzip.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::config_error;
using test::expect_contains;
using test::TemporaryFolder;

ResultHeader result_gzip_header() {
  ResultHeader header;
  header.benchmark = "conv";
  header.environment = capture_environment();
  return header;
}

Measurement result_gzip_measurement(double time = 1.5) {
  Measurement measurement;
  measurement.benchmark = "conv";
  measurement.axes = {{"batch", "8"}, {"pass", "forward"}};
  measurement.series["time"] = make_series("s", {{time, 2 * time}, {3 * time, time}});
  return measurement;
}

/// Writes `measurements` and returns the path.
std::filesystem::path result_gzip_write_all(const TemporaryFolder& folder,
                                            const std::vector<Measurement>& measurements) {
  auto path = folder.path() / "deep" / "conv.jsonl";
  ResultWriter writer(path, result_gzip_header());
  for (const Measurement& one : measurements) writer.write(one);
  writer.finish();
  return path;
}

TEST(ResultGzip, IsReadCompressedAsItWasWritten) {
  const TemporaryFolder folder;
  const std::string text = test::read_file(
      result_gzip_write_all(folder, {result_gzip_measurement(), result_gzip_measurement(2e-3)}));
  const ResultFile file = read_results(folder.write("conv.jsonl.gz", test::gzip(text)));
  EXPECT_TRUE(file.complete);
  ASSERT_EQ(file.measurements.size(), 2U);
  EXPECT_EQ(file.measurements[0].at("time").samples, result_gzip_measurement().at("time").samples);
  const std::string packed = test::gzip(text);
  const std::string cut = packed.substr(0, packed.size() / 2);
  expect_contains(config_error([&] { (void)read_results(folder.write("cut.jsonl.gz", cut)); }),
                  "cut.jsonl.gz is compressed with gzip and cut short");
}

TEST(ResultGzip, TreeHoldsCompressedFilesToo) {
  const TemporaryFolder folder;
  ResultWriter(folder.path() / "b.jsonl", result_gzip_header()).finish();
  const std::string text = test::read_file(folder.path() / "b.jsonl");
  (void)folder.write("a.jsonl.gz", test::gzip(text));
  (void)folder.write("c.json.gz", test::gzip(text));
  (void)folder.write("plan.jsonl.gz", test::gzip("{\"schema\":\"dlscale.plan\",\"version\":1}\n"));
  const std::vector<ResultFile> files = read_result_tree(folder.path());
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].path, folder.path() / "a.jsonl.gz");
  EXPECT_EQ(files[1].path, folder.path() / "b.jsonl");
  (void)folder.write("b.jsonl.gz", test::gzip(text));
  expect_contains(config_error([&] { (void)read_result_tree(folder.path()); }),
                  "b.jsonl and b.jsonl.gz are both there, and would count twice");
}

TEST(ResultGzip, IsNotWritten) {
  const TemporaryFolder folder;
  const auto named = folder.path() / "new.jsonl.gz";
  expect_contains(config_error([&] { ResultWriter(named, result_gzip_header()); }),
                  "new.jsonl.gz: they are compressed only when all are measured. Leave out .gz");
  EXPECT_FALSE(std::filesystem::exists(named));
  const std::string packed =
      test::gzip(test::read_file(result_gzip_write_all(folder, {result_gzip_measurement()})));
  const auto there = folder.write("there.jsonl", packed);
  expect_contains(config_error([&] { ResultWriter(there, result_gzip_header()); }),
                  "it is compressed with gzip. Unpack it with gunzip");
  EXPECT_EQ(test::read_file(there), packed);
}

}  // namespace
}  // namespace dlscale
