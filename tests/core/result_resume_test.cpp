#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/results/locked_results.hpp"
#include "core/results/measurement.hpp"
#include "core/results/result_json.hpp"
#include "core/results/result_resume.hpp"
#include "core/system/build_info.hpp"
#include "tests/core/gzip.hpp"
#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::config_error;
using test::expect_contains;
using test::TemporaryFolder;

ResultHeader result_resume_header() {
  ResultHeader header;
  header.benchmark = "conv";
  header.run = {{"network", "resnet50"}, {"max_time", "2"}, {"build", "ab12"}};
  header.environment = capture_environment();
  return header;
}

Measurement measured(int batch, Status status = Status::ok) {
  Measurement measurement;
  measurement.benchmark = "conv";
  measurement.axes = {{"batch", std::to_string(batch)}};
  measurement.status = status;
  measurement.series["time"] = make_series("s", {{0.5, 0.25}});
  return measurement;
}

class ResultResume : public testing::Test {
 protected:
  void write(std::initializer_list<Measurement> rows) const {
    ResultWriter writer(file_, result_resume_header());
    for (const Measurement& row : rows) writer.write(row);
  }
  /// How many rows are kept.
  [[nodiscard]] std::size_t kept() const {
    return find_resume_point(file_, result_resume_header()).measurements.size();
  }
  [[nodiscard]] std::string refusal_of(const std::function<void(ResultHeader&)>& change) const {
    ResultHeader other = result_resume_header();
    change(other);
    return config_error([&] { (void)find_resume_point(file_, other); });
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "conv.jsonl";
};

TEST_F(ResultResume, BeginsAnewWhereTheHeaderWasCut) {
  write({measured(1)});
  const std::string whole = test::read_file(file_);
  const std::size_t header_end = whole.find('\n');
  for (std::size_t length = 1; length < header_end; length += 53) {
    (void)folder_.write("conv.jsonl", whole.substr(0, length));
    const ResultHeader anew = result_resume_header();
    const ResumePoint point = find_resume_point(file_, anew);
    EXPECT_EQ(point.opening, header_line(anew)) << length;
    EXPECT_EQ(point.bytes, 0U);
    EXPECT_TRUE(point.measurements.empty());
  }
}

TEST_F(ResultResume, TakesNothingElseForACutHeader) {
  write({measured(1)});
  const std::string row = test::read_file(file_).substr(test::read_file(file_).find('\n') + 1);
  for (const std::string& other :
       {std::string("{\"bench\": 1}"), std::string("Thesis"), row.substr(0, 40),
        std::string("{\"benchmark\":\"conv\",\"cells\":[]"),
        std::string("{\"benchmark\":\"a b\"")}) {
    EXPECT_FALSE(begins_header(other)) << other;
    (void)folder_.write("conv.jsonl", other);
    expect_contains(config_error([&] { (void)find_resume_point(file_, result_resume_header()); }),
                    "is not a result file");
  }
}

TEST_F(ResultResume, DoesNotGoOnInACompressedFile) {
  write({measured(1), measured(2)});
  const std::string packed = test::gzip(test::read_file(file_));
  for (const char* name : {"conv.jsonl", "conv.jsonl.gz"}) {
    const auto file = folder_.write(name, packed);
    expect_contains(config_error([&] { (void)find_resume_point(file, result_resume_header()); }),
                    file.string() + ", nor appended: it is compressed with gzip. Unpack it");
    EXPECT_EQ(test::read_file(file), packed);
  }
}

TEST_F(ResultResume, GoesOnWhereTheFileEnds) {
  write({measured(1), measured(2)});
  {
    ResultWriter writer(file_, find_resume_point(file_, result_resume_header()));
    writer.write(measured(4));
    writer.finish();
  }
  const ResultFile whole = read_results(file_);
  EXPECT_TRUE(whole.complete);
  ASSERT_EQ(whole.measurements.size(), 3U);
  EXPECT_EQ(whole.measurements[1].axis("batch"), "2");
  EXPECT_EQ(whole.measurements[2].axis("batch"), "4");
}

TEST_F(ResultResume, TakesOffTheLastLineOfAFileThatIsWhole) {
  write({measured(1)});
  {
    ResultWriter writer(file_, find_resume_point(file_, result_resume_header()));
    writer.finish();
  }
  {
    ResultWriter writer(file_, find_resume_point(file_, result_resume_header()));
    writer.write(measured(2));
    writer.finish();
  }
  EXPECT_EQ(read_results(file_).measurements.size(), 2U);
}

TEST_F(ResultResume, MeasuresAgainWhatWasInterruptedAndAllAfterIt) {
  write({measured(1), measured(2, Status::interrupted), measured(3)});
  EXPECT_EQ(kept(), 1U);
  { const ResultWriter writer(file_, find_resume_point(file_, result_resume_header())); }
  EXPECT_EQ(read_results(file_).measurements.size(), 1U);
}

TEST_F(ResultResume, KeepsTheWholeLinesOfEveryTruncation) {
  write({measured(1), measured(2)});
  const std::string text = test::read_file(file_);
  const std::size_t head = text.find('\n') + 1;
  const std::size_t first = text.find('\n', head) + 1;
  for (const std::size_t bytes :
       {head, head + 1, first - 1, first, first + 1, text.size() - 1, text.size()}) {
    (void)folder_.write("conv.jsonl", text.substr(0, bytes));
    {
      const ResumePoint point = find_resume_point(file_, result_resume_header());
      const std::size_t whole = bytes < first ? head : bytes < text.size() ? first : bytes;
      EXPECT_EQ(point.bytes, whole) << bytes;
      ResultWriter writer(file_, point);
      writer.write(measured(9));
      writer.finish();
    }
    EXPECT_EQ(read_results(file_).measurements.back().axis("batch"), "9") << bytes;
  }
}

TEST_F(ResultResume, BeginsTheFileWhereNothingIs) {
  for (const bool is_there : {false, true}) {
    if (is_there) (void)folder_.write("conv.jsonl", "");
    {
      const ResumePoint point = find_resume_point(file_, result_resume_header());
      EXPECT_TRUE(point.measurements.empty());
      ResultWriter writer(file_, point);
      writer.write(measured(1));
      writer.finish();
    }
    const ResultFile whole = read_results(file_);
    EXPECT_TRUE(whole.complete);
    EXPECT_EQ(whole.header.run, result_resume_header().run);
    EXPECT_EQ(whole.measurements.size(), 1U);
  }
}

/// What one process reads another could add to, or cut off.
TEST_F(ResultResume, LocksTheFileBeforeItIsRead) {
  const auto refused = [this] {
    expect_contains(config_error([&] { (void)find_resume_point(file_, result_resume_header()); }),
                    "is being written by another dlscale");
    expect_contains(config_error([&] { const ResultWriter other(file_, result_resume_header()); }),
                    "is being written by another dlscale");
  };
  for (const bool is_there : {false, true}) {
    std::optional<ResumePoint> point = find_resume_point(file_, result_resume_header());
    EXPECT_EQ(point->measurements.size(), is_there ? 1U : 0U);
    refused();
    std::optional<ResultWriter> writer(std::in_place, file_, *point);
    point.reset();
    refused();
    if (!is_there) writer->write(measured(1));
    writer.reset();
  }
  EXPECT_EQ(kept(), 1U) << "who was refused has changed nothing";
}

TEST_F(ResultResume, RefusesResultsOfAnotherRun) {
  write({measured(1)});
  expect_contains(refusal_of([](auto& h) { h.run["max_time"] = std::string("3"); }),
                  "option max_time was 2 there and is 3 now");
  expect_contains(refusal_of([](auto& h) { h.run["layers"] = std::string("fc"); }),
                  "option layers was nothing there");
  expect_contains(refusal_of([](auto& h) { h.environment.commit = "other"; }), "the commit was");
  expect_contains(refusal_of([](auto& h) { h.environment.dirty = !h.environment.dirty; }),
                  "with local changes");
  expect_contains(refusal_of([](auto& h) { h.run["build"] = std::string("cd34"); }),
                  "the program's build id was ab12 there and is cd34 now");
  expect_contains(refusal_of([](auto& h) { h.run["ceilings_hash"] = std::string("0123"); }),
                  "the content of the ceilings and the cluster was nothing there and is 0123 now");
  expect_contains(refusal_of([](auto& h) { h.run["ceilings"] = std::string("here.jsonl"); }),
                  "option ceilings was nothing there");
  expect_contains(refusal_of([](auto& h) { h.environment.kernel = "Linux 1.0"; }),
                  "the system's kernel was");
  expect_contains(refusal_of([](auto& h) { h.environment.governor = "powersave-to-be"; }),
                  "the governor of the cores' clocks was");
  expect_contains(refusal_of([](auto& h) { h.environment.denormals = "lost"; }),
                  "what arithmetic makes of denormals was");
  expect_contains(refusal_of([](auto& h) { h.environment.host_hash = "other"; }), "the host was");
  expect_contains(refusal_of([](auto& h) { h.environment.libraries["oneDNN"] = "9.9"; }),
                  "the version of oneDNN was nothing there and is 9.9 now");
  expect_contains(refusal_of([](auto& h) { h.environment.variables["OMP_NUM_THREADS"] = "64"; }),
                  "variable OMP_NUM_THREADS");
  const std::string other = refusal_of([](auto& h) {
    h.benchmark = "gemm";
    h.run = {{"batch", "8"}, {"build", "ab12"}};
  });
  expect_contains(other, "it has results of bench conv, not of bench gemm");
}

/// Two of them, of one commit, would look the same.
TEST_F(ResultResume, RefusesABuildWithLocalChangesThatHasNoBuildId) {
  write({measured(1)});
  for (const char* build : {"unknown", ""}) {
    expect_contains(refusal_of([build](auto& h) {
                      h.environment.dirty = true;
                      h.run["build"] = std::string(build);
                    }),
                    "local changes and has no build id");
  }
}

TEST(BuildId, IsThatOfTheLinker) {
  const std::string id = build_id();
  EXPECT_EQ(id.size(), 40U) << id;
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  EXPECT_EQ(build_id(), id);
}

TEST_F(ResultResume, MindsNeitherDateNorLoadNorTheLaunchersAddress) {
  write({measured(1)});
  ResultHeader later = result_resume_header();
  later.environment.date = "2999-01-01T00:00:00Z";
  later.environment.load = "99 99 99";
  later.environment.variables["OMPI_MCA_orte_hnp_uri"] = "elsewhere";
  later.command = {"dlscale", "bench", "conv", "--resume"};
  EXPECT_EQ(find_resume_point(file_, later).measurements.size(), 1U);
}

TEST_F(ResultResume, RefusesWhatIsNoResultFile) {
  (void)folder_.write("conv.jsonl", "a letter\nof two lines\n");
  EXPECT_NE(config_error([&] { (void)find_resume_point(file_, result_resume_header()); }), "");
  expect_contains(
      config_error([&] { (void)find_resume_point(folder_.path(), result_resume_header()); }),
      "not a file");
}

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
