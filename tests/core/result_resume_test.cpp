#include "core/result_resume.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <string>

#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::config_error;
using test::expect_contains;
using test::TemporaryFolder;

ResultHeader header() {
  ResultHeader header;
  header.benchmark = "conv";
  header.run = {{"network", "resnet50"}, {"max_time", "2"}};
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
    ResultWriter writer(file_, header());
    for (const Measurement& row : rows) writer.write(row);
  }
  /// How many rows are kept.
  [[nodiscard]] std::size_t kept() const {
    const auto point = find_resume_point(file_, header());
    return point ? point->measurements.size() : 0;
  }
  [[nodiscard]] std::string refusal_of(const std::function<void(ResultHeader&)>& change) const {
    ResultHeader other = header();
    change(other);
    return config_error([&] { (void)find_resume_point(file_, other); });
  }

  TemporaryFolder folder_;
  std::filesystem::path file_ = folder_.path() / "conv.jsonl";
};

TEST_F(ResultResume, GoesOnWhereTheFileEnds) {
  write({measured(1), measured(2)});
  const auto point = find_resume_point(file_, header());
  ASSERT_TRUE(point);
  {
    ResultWriter writer(file_, *point);
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
    ResultWriter writer(file_, find_resume_point(file_, header()).value());
    writer.finish();
  }
  {
    ResultWriter writer(file_, find_resume_point(file_, header()).value());
    writer.write(measured(2));
    writer.finish();
  }
  EXPECT_EQ(read_results(file_).measurements.size(), 2U);
}

TEST_F(ResultResume, MeasuresAgainWhatWasInterruptedAndAllAfterIt) {
  write({measured(1), measured(2, Status::interrupted), measured(3)});
  EXPECT_EQ(kept(), 1U);
  { const ResultWriter writer(file_, find_resume_point(file_, header()).value()); }
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
    const auto point = find_resume_point(file_, header());
    ASSERT_TRUE(point) << bytes;
    const std::size_t whole = bytes < first ? head : bytes < text.size() ? first : bytes;
    EXPECT_EQ(point->bytes, whole) << bytes;
    {
      ResultWriter writer(file_, *point);
      writer.write(measured(9));
      writer.finish();
    }
    EXPECT_EQ(read_results(file_).measurements.back().axis("batch"), "9") << bytes;
  }
}

TEST_F(ResultResume, FindsNothingWhereNothingIs) {
  EXPECT_FALSE(find_resume_point(file_, header()));
  (void)folder_.write("conv.jsonl", "");
  EXPECT_FALSE(find_resume_point(file_, header()));
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
  expect_contains(refusal_of([](auto& h) { h.environment.host_hash = "other"; }), "the host was");
  expect_contains(refusal_of([](auto& h) { h.environment.libraries["oneDNN"] = "9.9"; }),
                  "the version of oneDNN was nothing there and is 9.9 now");
  expect_contains(refusal_of([](auto& h) { h.environment.variables["OMP_NUM_THREADS"] = "64"; }),
                  "variable OMP_NUM_THREADS");
  expect_contains(refusal_of([](auto& h) { h.benchmark = "gemm"; }), "--resume");
}

TEST_F(ResultResume, MindsNeitherDateNorLoadNorTheLaunchersAddress) {
  write({measured(1)});
  ResultHeader later = header();
  later.environment.date = "2999-01-01T00:00:00Z";
  later.environment.load = "99 99 99";
  later.environment.variables["OMPI_MCA_orte_hnp_uri"] = "elsewhere";
  later.command = {"dlscale", "bench", "conv", "--resume"};
  EXPECT_TRUE(find_resume_point(file_, later));
}

TEST_F(ResultResume, RefusesWhatIsNoResultFile) {
  (void)folder_.write("conv.jsonl", "a letter\nof two lines\n");
  EXPECT_NE(config_error([&] { (void)find_resume_point(file_, header()); }), "");
  expect_contains(config_error([&] { (void)find_resume_point(folder_.path(), header()); }),
                  "no file");
}

}  // namespace
}  // namespace dlscale
