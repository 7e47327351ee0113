#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bit>

#include <cmath>
#include <csignal>
#include <limits>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"
#include "core/results/result_json.hpp"
#include "core/results/usable_rows.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::config_error;
using test::expect_contains;
using test::TemporaryFolder;

ResultHeader header() {
  ResultHeader header;
  header.benchmark = "conv";
  header.command = {"dlscale", "bench", "conv"};
  header.run = {{"network", "resnet50"}};
  header.environment = capture_environment();
  return header;
}

Measurement measurement(double time = 1.5) {
  Measurement measurement;
  measurement.benchmark = "conv";
  measurement.axes = {{"batch", "8"}, {"pass", "forward"}};
  measurement.series["time"] = make_series("s", {{time, 2 * time}, {3 * time, time}});
  measurement.work = Work{Flops(1e9), Bytes(2e6)};
  measurement.implementation = "jit:avx512";
  measurement.max_relative_error = 1e-7;
  measurement.mean_relative_error = 1e-8;
  measurement.algorithmic_work = Work{Flops(3e9), Bytes(5e6)};
  measurement.workspace = Bytes(4096);
  measurement.creation = Seconds(1e-3);
  measurement.share_of_peak = 0.625;
  measurement.share_of_roofline = 0.875;
  measurement.warnings = {"clock was low"};
  return measurement;
}

void expect_equal(const Measurement& a, const Measurement& b) {
  EXPECT_EQ(a.key(), b.key());
  EXPECT_EQ(a.status, b.status);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.implementation, b.implementation);
  EXPECT_EQ(a.max_relative_error, b.max_relative_error);
  EXPECT_EQ(a.mean_relative_error, b.mean_relative_error);
  EXPECT_EQ(a.share_of_peak, b.share_of_peak);
  EXPECT_EQ(a.share_of_roofline, b.share_of_roofline);
  EXPECT_EQ(a.workspace, b.workspace);
  EXPECT_EQ(a.creation, b.creation);
  ASSERT_EQ(a.algorithmic_work.has_value(), b.algorithmic_work.has_value());
  if (a.algorithmic_work) {
    EXPECT_EQ(a.algorithmic_work->flops, b.algorithmic_work->flops);
    EXPECT_EQ(a.algorithmic_work->bytes, b.algorithmic_work->bytes);
  }
  EXPECT_EQ(a.warnings, b.warnings);
  EXPECT_EQ(a.network, b.network);
  ASSERT_EQ(a.series.size(), b.series.size());
  for (const auto& [name, series] : a.series) {
    EXPECT_EQ(series.unit, b.at(name).unit);
    EXPECT_EQ(series.samples, b.at(name).samples);  // to the last bit
    EXPECT_EQ(series.summary.median, b.at(name).summary.median);
  }
  ASSERT_EQ(a.work.has_value(), b.work.has_value());
  if (a.work) {
    EXPECT_EQ(a.work->flops, b.work->flops);
    EXPECT_EQ(a.work->bytes, b.work->bytes);
  }
}

/// Writes `measurements` and returns the path.
std::filesystem::path write_all(const TemporaryFolder& folder,
                                const std::vector<Measurement>& measurements) {
  auto path = folder.path() / "deep" / "er" / "conv.jsonl";
  ResultWriter writer(path, header());
  for (const Measurement& one : measurements) writer.write(one);
  writer.finish();
  return path;
}

TEST(ResultFile, ReadsBackWhatWasWritten) {
  const TemporaryFolder folder;
  const ResultFile file = read_results(write_all(folder, {measurement(), measurement(2e-3)}));
  EXPECT_TRUE(file.complete);
  EXPECT_EQ(file.header.benchmark, "conv");
  EXPECT_EQ(file.header.command, header().command);
  EXPECT_EQ(file.header.run, header().run);
  EXPECT_EQ(file.header.environment.cpu, header().environment.cpu);
  EXPECT_EQ(file.header.environment.denormals, header().environment.denormals);
  EXPECT_EQ(file.header.environment.memory_bytes, header().environment.memory_bytes);
  ASSERT_EQ(file.measurements.size(), 2U);
  expect_equal(file.measurements[0], measurement());
}

/// As those of earlier versions, and of processors that do not tell.
TEST(ResultFile, MayLackWhatBecomesOfDenormals) {
  ResultHeader without = header();
  without.environment.denormals.clear();
  const std::string line = header_line(without);
  EXPECT_EQ(line.find("denormals"), std::string::npos) << line;
  EXPECT_EQ(parse_header(line).environment.denormals, "");
}

TEST(ResultFile, KeepsFactsWhereThereAreSome) {
  ResultHeader with = header();
  with.environment.facts = {{"turbo", "unavailable: x"}};
  EXPECT_EQ(parse_header(header_line(with)).environment.facts, with.environment.facts);
}

TEST(ResultFile, KeepsWhichNetworkWasTrained) {
  const TemporaryFolder folder;
  Measurement trained = measurement();
  trained.network = TrainedNetwork{"nets/small.yaml", "0123456789abcdef"};
  const ResultFile file = read_results(write_all(folder, {measurement(), trained}));
  ASSERT_EQ(file.measurements.size(), 2U);
  EXPECT_FALSE(file.measurements[0].network.has_value());
  expect_equal(file.measurements[1], trained);
}

/// Any double that is finite: all exponents, subnormals and zeros of both signs.
double random_finite(std::mt19937_64& random) {
  for (;;) {
    const double x = std::bit_cast<double>(random());
    if (std::isfinite(x)) return x;
  }
}

std::string random_text(std::mt19937_64& random) {
  static const std::vector<std::string> pieces{"a",  "=", " ",    "\"", "\\",
                                               "\n", "ä", "\x01", "𝛼",  "{"};
  std::string text;
  for (std::uint64_t i = random() % 8; i > 0; --i) text += pieces[random() % pieces.size()];
  return text;
}

Measurement random_measurement(std::mt19937_64& random) {
  Measurement result;
  result.benchmark = random_text(random);
  result.axes[random_text(random)] = random_text(random);
  result.status = std::array{Status::ok, Status::unstable, Status::unsupported,
                             Status::interrupted}[random() % 4];
  result.reason = random_text(random);
  std::vector<std::vector<double>> samples(1 + random() % 3);
  const std::size_t count = random() % 5;
  for (auto& rank : samples) {
    for (std::size_t i = 0; i < count; ++i) rank.push_back(random_finite(random) / 4);
  }
  result.series[random_text(random)] = make_series("1", samples);  // durations have a range
  if (random() % 2 == 0) result.work = Work{Flops(1.0 / 3), Bytes(random_finite(random) / 4)};
  if (random() % 2 == 0) result.max_relative_error = random_finite(random);
  return result;
}

TEST(ResultFile, ReadsBackAnyMeasurement) {
  std::mt19937_64 random(17);
  std::vector<Measurement> measurements(200);
  for (Measurement& one : measurements) one = random_measurement(random);
  const TemporaryFolder folder;
  const ResultFile file = read_results(write_all(folder, measurements));
  ASSERT_EQ(file.measurements.size(), measurements.size());
  for (std::size_t i = 0; i < measurements.size(); ++i) {
    expect_equal(file.measurements[i], measurements[i]);
  }
}

TEST(ResultFile, EveryLineIsStrictJsonOfOneObject) {
  const TemporaryFolder folder;
  Measurement odd = measurement();
  odd.implementation = "not UTF-8: \xff\xfe";
  std::istringstream lines(test::read_file(write_all(folder, {odd})));
  std::vector<nlohmann::json> parsed;
  for (std::string line; std::getline(lines, line);) parsed.push_back(nlohmann::json::parse(line));
  ASSERT_EQ(parsed.size(), 3U);
  EXPECT_EQ(parsed[0].at("schema"), "dlscale.result");
  EXPECT_EQ(parsed[0].at("version"), 1);
  EXPECT_EQ(parsed[1].at("series").at("time").at("summary").at("n"), 2);
  EXPECT_EQ(parsed[2].at("end").at("measurements"), 1);
}

TEST(ResultFile, NumbersThatAreNotFiniteMakeAMeasurementWrong) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double infinity = std::numeric_limits<double>::infinity();
  std::vector<Measurement> bad(6, measurement());
  bad[0].series["time"] = make_series("s", {{1, nan}});
  bad[1].series["loss"] = make_series("1", {{infinity}});
  bad[2].max_relative_error = nan;
  bad[3].work = Work{Flops(infinity), Bytes(1)};
  bad[4].mean_relative_error = infinity;
  bad[5].algorithmic_work = Work{Flops(1), Bytes(nan)};
  const TemporaryFolder folder;
  const auto path = write_all(folder, bad);
  EXPECT_EQ(test::read_file(path).find("nan"), std::string::npos);
  for (const Measurement& one : read_results(path).measurements) {
    EXPECT_EQ(one.status, Status::wrong);
    EXPECT_TRUE(one.series.empty());
    expect_contains(one.reason, "not finite");
  }
}

TEST(ResultFile, WhatIsNotFiniteIsToldOnce) {
  Measurement bad = measurement();
  bad.max_relative_error = std::numeric_limits<double>::quiet_NaN();
  const Measurement once = refuse_not_finite(bad);
  EXPECT_EQ(once.status, Status::wrong);
  EXPECT_TRUE(once.series.empty());
  EXPECT_EQ(refuse_not_finite(once).reason, once.reason);
  EXPECT_EQ(refuse_not_finite(measurement()).status, Status::ok);
}

TEST(ResultFile, OfEarlierVersionsLackWhatIsKnownOfTheAlgorithm) {
  const TemporaryFolder folder;
  Measurement old = measurement();
  old.mean_relative_error.reset();
  old.algorithmic_work.reset();
  old.workspace.reset();
  old.creation.reset();
  const auto path = write_all(folder, {old});
  for (const char* key :
       {"mean_relative_error", "algorithmic_work", "workspace_bytes", "creation_s"}) {
    EXPECT_EQ(test::read_file(path).find(key), std::string::npos) << key;
  }
  expect_equal(read_results(path).measurements.front(), old);
}

TEST(ResultFile, WrongMeasurementCarriesNoTimes) {
  Measurement wrong = measurement();
  wrong.status = Status::wrong;
  wrong.reason = "differs from reference by 3.1";
  const TemporaryFolder folder;
  const Measurement read = read_results(write_all(folder, {wrong})).measurements.front();
  EXPECT_TRUE(read.series.empty());
  EXPECT_EQ(read.reason, wrong.reason);
}

TEST(ResultFile, WithoutItsLastLineIsReadAndIncomplete) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "conv.jsonl";
  {
    ResultWriter writer(path, header());
    writer.write(measurement());
  }
  const ResultFile file = read_results(path);
  EXPECT_FALSE(file.complete);
  EXPECT_EQ(file.measurements.size(), 1U);
}

TEST(ResultFile, EachLineIsThereBeforeTheNext) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "conv.jsonl";
  ResultWriter writer(path, header());
  EXPECT_EQ(read_results(path).measurements.size(), 0U);
  writer.write(measurement());
  EXPECT_EQ(read_results(path).measurements.size(), 1U);
}

TEST(ResultFile, EveryTruncationKeepsTheWholeLines) {
  const TemporaryFolder folder;
  const std::string whole = test::read_file(write_all(folder, {measurement(), measurement()}));
  const std::size_t header_end = whole.find('\n');
  for (std::size_t length = header_end; length <= whole.size(); length += 7) {
    const auto cut = folder.write("cut.jsonl", whole.substr(0, length));
    const std::string kept = whole.substr(0, length + 1);
    const auto breaks = static_cast<std::size_t>(std::count(kept.begin(), kept.end(), '\n'));
    EXPECT_EQ(read_results(cut).measurements.size(), std::min<std::size_t>(breaks - 1, 2))
        << length;
  }
  for (std::size_t length = 0; length < header_end; length += 97) {
    const auto cut = folder.write("cut.jsonl", whole.substr(0, length));
    expect_contains(config_error([&] { (void)read_results(cut); }), "holds no results");
  }
}

/// The error of reading a file whose text was changed.
std::string error_after(std::string_view from, std::string_view to) {
  const TemporaryFolder folder;
  const std::string whole = test::read_file(write_all(folder, {measurement(), measurement()}));
  const auto changed = folder.write("changed.jsonl", test::replaced(whole, from, to));
  return config_error([&] { (void)read_results(changed); });
}

TEST(ResultFile, DamageIsNamedWithFileAndLine) {
  expect_contains(error_after("\n{\"algorithmic_work\"", "\n{algorithmic_work"),
                  "changed.jsonl:2: this line is not a JSON");
  expect_contains(error_after("\"status\":\"ok\"", "\"status\":\"fine\""),
                  ":2: \"fine\" is not a status");
  expect_contains(error_after("\"status\":\"ok\",", ""), "status");
  expect_contains(error_after("\"unit\":\"s\"", "\"unit\":3"), "changed.jsonl:2:");
  expect_contains(error_after("\"workspace_bytes\":4096.0", "\"workspace_bytes\":\"4 KiB\""),
                  "changed.jsonl:2:");
  expect_contains(error_after("{\"end\":{\"measurements\":2}}", "{\"end\":{\"measurements\":7}}"),
                  ":4: the file ends after 2 measurements but counts 7");
  expect_contains(error_after("{\"end\":{\"measurements\":2}}\n",
                              "{\"end\":{\"measurements\":2}}\n{\"end\":{\"measurements\":2}}\n"),
                  ":5: there is more after the line that ends the file");
  expect_contains(error_after("[[1.5,3.0],[4.5,1.5]]", "[[1.5],[4.5,1.5]]"),
                  "different numbers of samples");
}

TEST(ResultFile, DurationsThatNothingTookAreRefused) {
  const auto read = [](const std::string& name, double seconds) {
    Measurement row = measurement();
    row.series.clear();
    row.series[name] = make_series("s", {{1e-3, seconds}});
    (void)parse_measurement(measurement_line(row));
  };
  const auto error_of = [&read](const std::string& name, double seconds) {
    return config_error([&] { read(name, seconds); });
  };
  for (const double seconds : {-1.0, 5e-324, 1e308}) {
    expect_contains(error_of("time", seconds), "series \"time\" has ");
  }
  for (const double seconds : {5e-324, -1e308}) {
    expect_contains(error_of("start_skew", seconds), "series \"start_skew\" has ");
  }
  for (const char* name : {"time", "t_iter"}) {
    expect_contains(error_of(name, 0), "has 0 s on the slowest rank");
  }
  EXPECT_NO_THROW(read("time", 1e-12));
  EXPECT_NO_THROW(read("start_skew", -1e-6)) << "a difference";
  EXPECT_NO_THROW(read("t_h2d", 0)) << "on a host there is no copy";
}

TEST(ResultFile, RanksMayHaveNothingToDoWhileOthersMeasure) {
  const auto read = [](std::vector<std::vector<double>> samples) {
    Measurement row = measurement();
    row.series["time"] = make_series("s", std::move(samples));
    (void)parse_measurement(measurement_line(row));
  };
  EXPECT_NO_THROW(read({{1e-3, 2e-3}, {0, 0}}));
  expect_contains(config_error([&] { read({{1e-3, 0}, {0, 0}}); }), "slowest rank");
  expect_contains(config_error([&] { read({{}, {}}); }), "no samples");
}

TEST(ResultFile, OtherSchemaAndVersionAreRefused) {
  expect_contains(error_after("dlscale.result", "other.result"), ":1: this is not a result file");
  expect_contains(error_after("\"version\":1", "\"version\":2"), "reads version 1");
}

TEST(ResultFile, GarbageIsAConfigError) {
  const TemporaryFolder folder;
  for (const std::string_view text :
       {"\n", "null\n", "[]\n", "{}\n", "\x89PNG\r\n", "{\"axes\":{}}\n"}) {
    const auto file = folder.write("garbage.jsonl", text);
    EXPECT_THROW((void)read_results(file), ConfigError) << text;
  }
  EXPECT_THROW((void)read_results(folder.path()), ConfigError);
  EXPECT_THROW((void)read_results(folder.path() / "absent.jsonl"), ConfigError);
}

TEST(ResultFile, TreeIsReadInTheOrderOfItsPaths) {
  const TemporaryFolder folder;
  for (const char* name : {"b.jsonl", "a/z.jsonl", "a/c.jsonl"}) {
    ResultWriter(folder.path() / name, header()).finish();
  }
  (void)folder.write("notes.txt", "no result");
  const std::vector<ResultFile> files = read_result_tree(folder.path());
  ASSERT_EQ(files.size(), 3U);
  EXPECT_EQ(files[0].path, folder.path() / "a/c.jsonl");
  EXPECT_EQ(files[2].path, folder.path() / "b.jsonl");
  EXPECT_EQ(read_result_tree(folder.path() / "b.jsonl").size(), 1U);
}

TEST(ResultWriter, FullDiskIsAConfigErrorThatNamesThePath) {
  if (!std::filesystem::exists("/dev/full")) GTEST_SKIP() << "this system has no /dev/full";
  const std::string error = config_error([] { ResultWriter("/dev/full", header()); });
  expect_contains(error, "/dev/full cannot be written (No space left on device). Free");
  expect_contains(error, "Free some space");
}

/// Lowers the largest file this process may write, as a full disk would, while it lives.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    (void)std::signal(SIGXFSZ, SIG_IGN);  // or the write would end the process
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit now{bytes, before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &now);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &before_);
    (void)std::signal(SIGXFSZ, SIG_DFL);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  FileSizeLimit(FileSizeLimit&&) = delete;
  FileSizeLimit& operator=(FileSizeLimit&&) = delete;

 private:
  rlimit before_{};
};

TEST(ResultWriter, RunningOutOfSpaceKeepsWhatWasMeasured) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "conv.jsonl";
  std::string error;
  {
    ResultWriter writer(path, header());
    writer.write(measurement());
    writer.write(measurement());
    const FileSizeLimit limit(std::filesystem::file_size(path) + 100);
    error = config_error([&] { writer.write(measurement()); });
  }
  expect_contains(error, "the 2 measurements before are kept");
  EXPECT_EQ(test::read_file(path).back(), '\n');  // the half-written line was taken back
  EXPECT_EQ(read_results(path).measurements.size(), 2U);
}

TEST(ResultWriter, PlaceThatCannotBeWrittenIsAConfigError) {
  const TemporaryFolder folder;
  const auto file = folder.write("file", "text");
  expect_contains(config_error([&] { ResultWriter(file / "below.jsonl", header()); }),
                  "results cannot be written to");
  expect_contains(config_error([&] { ResultWriter(folder.path(), header()); }), "Is a directory");
  if (geteuid() == 0) return;  // nothing is forbidden to root
  chmod(folder.path().c_str(), 0500);
  expect_contains(config_error([&] { ResultWriter(folder.path() / "x.jsonl", header()); }),
                  "Permission denied");
  chmod(folder.path().c_str(), 0700);
}

TEST(ResultWriter, FileThatIsNoResultIsNotOverwritten) {
  const TemporaryFolder folder;
  const auto thesis = folder.write("thesis.tex", "years of work");
  expect_contains(config_error([&] { ResultWriter(thesis, header()); }), "is not overwritten");
  EXPECT_EQ(test::read_file(thesis), "years of work");
}

TEST(ResultWriter, OlderResultIsReplaced) {
  const TemporaryFolder folder;
  const auto path = write_all(folder, {measurement(), measurement()});
  ResultWriter(path, header()).finish();
  EXPECT_EQ(read_results(path).measurements.size(), 0U);
}

TEST(ResultWriter, TwoWritersOfOneFileAreRefused) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "conv.jsonl";
  ResultWriter first(path, header());
  first.write(measurement());
  expect_contains(config_error([&] { ResultWriter(path, header()); }),
                  "is being written by another dlscale");
  EXPECT_EQ(read_results(path).measurements.size(), 1U);
}

TEST(Series, SummaryIsOfTheSlowestRankOfEachSample) {
  const Series series = make_series("s", {{1, 5, 3}, {2, 4, 9}});
  EXPECT_EQ(series.summary.n, 3U);
  EXPECT_EQ(series.summary.median, 5);
  EXPECT_EQ(series.summary.max, 9);
  EXPECT_EQ(make_series("s", {{}, {}}).summary.n, 0U);
  EXPECT_THROW((void)make_series("s", {{1, 2}, {1}}), std::logic_error);
}

TEST(Measurement, HasTimesEvenIfTheyAreUnstable) {
  const auto timed = [](Status status) {
    Measurement measurement;
    measurement.status = status;
    return is_timed(measurement);
  };
  EXPECT_TRUE(timed(Status::ok) && timed(Status::unstable));
  EXPECT_FALSE(timed(Status::wrong) || timed(Status::unsupported) || timed(Status::interrupted));
}

TEST(Measurement, OfEarlierVersionsHasNormalValues) {
  Measurement measurement;
  EXPECT_TRUE(has_normal_values(measurement));
  measurement.axes["values"] = std::string("zeros");
  EXPECT_FALSE(has_normal_values(measurement));
  measurement.axes["values"] = std::string(normal_values);
  EXPECT_TRUE(has_normal_values(measurement));
}

TEST(MeasurementKey, NamesTheBenchmarkAndItsAxesInOrder) {
  EXPECT_EQ(measurement().key(), "conv batch=8 pass=forward");
  EXPECT_EQ(measurement().axis("pass"), "forward");
  expect_contains(config_error([] { (void)measurement().axis("dtype"); }), "no axis \"dtype\"");
  expect_contains(config_error([] { (void)measurement().at("t_iter"); }), "only: time");
}

}  // namespace
}  // namespace dlscale
