#include "model/roofline/fit/choice_question.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

constexpr const char* kernel = "convolution c64 h28 w28 k64 r3 s3 stride1 pad1 groups1";

Measurement row(const std::string& backend, const std::string& algorithm,
                const std::string& implementation, const std::string& batch = "4") {
  Measurement measurement = synthetic::measured("conv",
                                                {{"network", "net"},
                                                 {"layer", "conv1"},
                                                 {"kernel", kernel},
                                                 {"pass", "forward"},
                                                 {"batch", batch},
                                                 {"dtype", "f32"},
                                                 {"backend", backend},
                                                 {"threads", "1"},
                                                 {"ranks", "1"},
                                                 {"ranks_on_node", "1"},
                                                 {"cache", "cold"},
                                                 {"algorithm", algorithm}},
                                                1e-3);
  measurement.implementation = implementation;
  return measurement;
}

Measurement refused(Measurement measurement) {
  measurement.status = Status::unsupported;
  measurement.series.clear();
  measurement.implementation.clear();
  return measurement;
}

std::vector<Measurement> all_algorithms(const std::string& batch) {
  return {row("native", "chosen", "im2col+gemm", batch),
          row("native", "im2col", "im2col+gemm", batch),
          row("native", "winograd_f4", "winograd F(4x4,3x3) avx3+gemm", batch),
          row("onednn", "direct", "jit:avx512_core", batch)};
}

std::vector<int> complete_batches(const std::vector<Measurement>& rows) {
  const std::vector files{synthetic::file("a.jsonl", rows)};
  std::vector<int> batches;
  for (const Question& question : complete_questions(files)) batches.push_back(question.batch);
  return batches;
}

TEST(CompleteQuestions, HaveARowOfEveryAlgorithm) {
  std::vector<Measurement> rows = all_algorithms("4");
  EXPECT_EQ(complete_batches(rows), std::vector{4});
  // Of 64 images only what training chooses was measured.
  rows.push_back(row("native", "chosen", "im2col+gemm", "64"));
  rows.push_back(row("onednn", "chosen", "jit:avx512_core", "64"));
  EXPECT_EQ(complete_batches(rows), std::vector<int>{}) << "oneDNN has no \"chosen\" at 4";
  rows.push_back(row("onednn", "chosen", "jit:avx512_core"));
  EXPECT_EQ(complete_batches(rows), std::vector{4});
}

TEST(CompleteQuestions, HaveRowsOfWhatIsNotOffered) {
  std::vector<Measurement> rows = all_algorithms("4");
  for (const Measurement& each : all_algorithms("1")) {
    rows.push_back(each.axes.at("algorithm") == "winograd_f4" ? refused(each) : each);
  }
  EXPECT_EQ(complete_batches(rows), (std::vector{1, 4}));
  for (Measurement& each : rows) {
    if (each.status == Status::unsupported) each.status = Status::wrong;
  }
  EXPECT_EQ(complete_batches(rows), std::vector{4});
}

TEST(CompleteQuestions, WantNothingThatIsNoWayToTrain) {
  std::vector<Measurement> rows = all_algorithms("4");
  rows.push_back(
      row("native", "winograd_f4_kept_filters", "kept filters+winograd F(4x4,3x3) avx3+gemm", "1"));
  EXPECT_EQ(complete_batches(rows), std::vector{4});
}

TEST(CompleteQuestions, AreOfOneConditionEach) {
  std::vector<Measurement> rows = all_algorithms("4");
  Measurement wide = row("native", "fft", "fft 32x32 avx3+gemm");
  wide.axes["threads"] = "2";
  Measurement half = row("native", "fft_tiled", "fft_tiled 16x16 avx3+gemm");
  half.axes["dtype"] = "bf16";
  Measurement device = row("cuda", "fft", "own fft 30x30 cufft cublasLt algo=6");
  rows.insert(rows.end(), {wide, half, device});
  EXPECT_EQ(complete_batches(rows), (std::vector{4, 4, 4}));  // of 1 thread, of 2, and on the GPU
}

TEST(CompleteQuestions, RefuseWhatCannotBeRead) {
  std::vector<Measurement> rows = all_algorithms("4");
  rows.front().axes["threads"] = "one";
  EXPECT_THROW((void)complete_batches(rows), ConfigError);
}

}  // namespace
}  // namespace dlscale::model
