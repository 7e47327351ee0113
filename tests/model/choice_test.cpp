#include <gtest/gtest.h>

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "model/roofline/fit/choice_judge.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {
namespace {

using convolution::Method;

constexpr const char* small = "convolution c64 h28 w28 k64 r3 s3 stride1 pad1 groups1";
constexpr const char* large = "convolution c64 h56 w56 k64 r3 s3 stride1 pad1 groups1";

Way way(Method method) {
  return {.backend = "native", .method = method};
}

/// One that says that everything takes so long.
KernelModel always(Method method, double seconds) {
  KernelModel model;
  model.way = way(method);
  model.caches = {Bytes(1e6), Bytes(16e6)};
  model.parameters.at(static_cast<std::size_t>(Term::start)) = seconds;
  return model;
}

KernelModels models(const std::map<Method, double>& seconds) {
  KernelModels all;
  for (const auto& [method, each] : seconds) all.models.push_back(always(method, each));
  return all;
}

struct Times {
  const char* kernel = small;
  int batch = 4;
  std::string layer = "net conv1";
};

void add(std::vector<KernelSample>& samples, const Times& of,
         const std::map<Method, double>& seconds) {
  for (const auto& [method, each] : seconds) {
    samples.push_back({make_case(way(method), of.kernel, of.batch, 16), Seconds(each), {of.layer}});
  }
}

ChoiceEvidence all_complete(const std::vector<KernelSample>& samples) {
  ChoiceEvidence evidence;
  for (const KernelSample& sample : samples) evidence.complete.insert(question_of(sample.what));
  return evidence;
}

TEST(ChoiceJudgement, HoldsAChoiceAgainstWaysThatHaveNoModel) {
  std::vector<KernelSample> samples;
  add(samples, {}, {{Method::im2col, 3}, {Method::fft, 2}, {Method::winograd_f4, 1}});
  const auto known = models({{Method::im2col, 3}, {Method::fft, 2}});
  const ChoiceJudgement judgement = judge_choices(samples, known, all_complete(samples));
  EXPECT_EQ(judgement.all.predicted.choices, 1);
  EXPECT_EQ(judgement.all.predicted.best, 0);
  EXPECT_EQ(judgement.all.predicted.chosen, Seconds(2));
  EXPECT_EQ(judgement.all.predicted.least, Seconds(1));
  EXPECT_DOUBLE_EQ(judgement.all.predicted.loss(), 1);
}

TEST(ChoiceJudgement, LeavesOutWhatWasNotMeasuredByAll) {
  std::vector<KernelSample> samples;
  add(samples, {}, {{Method::im2col, 3}, {Method::fft, 2}});
  add(samples, {.batch = 64}, {{Method::im2col, 30}, {Method::fft, 20}});
  ChoiceEvidence evidence;
  evidence.complete.insert(question_of(samples.front().what));
  const auto known = models({{Method::im2col, 1}, {Method::fft, 2}});
  const ChoiceJudgement judgement = judge_choices(samples, known, evidence);
  EXPECT_EQ(judgement.all.predicted.choices, 1);
  EXPECT_EQ(judgement.incomplete, 1);
  EXPECT_DOUBLE_EQ(judgement.all.predicted.loss(), 0.5);
}

TEST(ChoiceJudgement, NamesWhatChooseOffersAndTheLibraryDoesNot) {
  std::vector<KernelSample> samples;
  add(samples, {}, {{Method::im2col, 3}, {Method::fft, 2}});
  const auto known = models({{Method::im2col, 1}, {Method::fft, 2}, {Method::winograd_f4, 0.5}});
  const ChoiceJudgement judgement = judge_choices(samples, known, all_complete(samples));
  EXPECT_EQ(judgement.not_offered, (std::map<std::string, int>{{"native winograd_f4", 1}}));
  EXPECT_EQ(judgement.all.predicted.chosen, Seconds(3));  // the next one that choose() names
}

TEST(ChoiceJudgement, CountsQuestionsThatNoModelAnswers) {
  std::vector<KernelSample> samples;
  add(samples, {}, {{Method::im2col, 3}, {Method::fft, 2}});
  const ChoiceJudgement judgement =
      judge_choices(samples, models({{Method::winograd_f4, 1}}), all_complete(samples));
  EXPECT_EQ(judgement.unanswered, 1);
  EXPECT_EQ(judgement.all.predicted.choices, 0);
  EXPECT_TRUE(judgement.parts.empty());
}

TEST(ChoiceJudgement, TellsBatchesAndListsApart) {
  // By prediction im2col everywhere: right for 4 images, wrong for 16 and in the list.
  std::vector<KernelSample> samples;
  add(samples, {}, {{Method::im2col, 1}, {Method::fft, 2}});
  add(samples, {.kernel = large}, {{Method::im2col, 1}, {Method::fft, 2}});
  add(samples, {.batch = 16}, {{Method::im2col, 12}, {Method::fft, 8}});
  add(samples, {.batch = 1, .layer = "convnet_L1 L1"}, {{Method::im2col, 3}, {Method::fft, 1}});
  const auto known = models({{Method::im2col, 1}, {Method::fft, 2}});
  const ChoiceJudgement judgement = judge_choices(samples, known, all_complete(samples));
  EXPECT_EQ(judgement.all.layers_of, LayersOf::networks);
  EXPECT_EQ(judgement.all.predicted.choices, 3);
  EXPECT_DOUBLE_EQ(judgement.all.predicted.loss(), 0.4);  // 14 s instead of 10 s
  EXPECT_DOUBLE_EQ(judgement.all.predicted.median, 0);
  ASSERT_EQ(judgement.parts.size(), 3);
  EXPECT_EQ(judgement.parts[0].batch, 4);
  EXPECT_DOUBLE_EQ(judgement.parts[0].predicted.loss(), 0);
  EXPECT_EQ(judgement.parts[1].batch, 16);
  EXPECT_DOUBLE_EQ(judgement.parts[1].predicted.loss(), 0.5);
  EXPECT_EQ(judgement.parts[2].layers_of, LayersOf::lists);
  EXPECT_DOUBLE_EQ(judgement.parts[2].predicted.loss(), 2);
}

TEST(ChoiceJudgement, WeighsByHowOftenAKernelRuns) {
  std::vector<KernelSample> samples;
  add(samples, {}, {{Method::im2col, 1}, {Method::fft, 2}});
  add(samples, {.kernel = large}, {{Method::im2col, 12}, {Method::fft, 8}});
  ChoiceEvidence evidence = all_complete(samples);
  evidence.steps[{small, Pass::forward}] = 40;
  evidence.steps[{large, Pass::forward}] = 1;
  const auto known = models({{Method::im2col, 1}, {Method::fft, 2}});
  const ChoiceJudgement judgement = judge_choices(samples, known, evidence);
  EXPECT_NEAR(judgement.all.predicted.loss(), 4.0 / 9, 1e-12);
  ASSERT_EQ(judgement.parts.size(), 1);
  EXPECT_EQ(judgement.parts[0].counting, Counting::by_steps);
  EXPECT_EQ(judgement.parts[0].predicted.choices, 2);
  EXPECT_NEAR(judgement.parts[0].predicted.loss(), 4.0 / 48, 1e-12);
}

TEST(ChoiceJudgement, SaysWhatNoiseAloneCosts) {
  // By the first measurement im2col takes 1 s and FFT 2 s, by the last it is the other way round
  // with 3 s and 1 s.
  std::vector<KernelSample> samples;
  add(samples, {}, {{Method::im2col, 2}, {Method::fft, 1.5}});
  const auto known = models({{Method::im2col, 1}, {Method::fft, 2}});
  EXPECT_EQ(judge_choices(samples, known, all_complete(samples)).all.repeated.choices, 0);
  for (KernelSample& sample : samples) {
    const bool im2col = sample.what.way.method == Method::im2col;
    sample.repeats = im2col ? std::vector<Seconds>{Seconds(1), Seconds(3)}
                            : std::vector<Seconds>{Seconds(2), Seconds(1)};
  }
  const ChoiceLoss loss = judge_choices(samples, known, all_complete(samples)).all.repeated;
  EXPECT_EQ(loss.choices, 2);
  EXPECT_EQ(loss.best, 0);
  EXPECT_DOUBLE_EQ(loss.loss(), (3.0 + 2.0) / (1.0 + 1.0) - 1);
  samples.front().repeats.clear();  // of one of the ways there is no other measurement
  EXPECT_EQ(judge_choices(samples, known, all_complete(samples)).all.repeated.choices, 0);
}

TEST(ChoiceJudgement, AsksEachModelOfItsOwnSamples) {
  std::vector<KernelSample> some;
  add(some, {}, {{Method::im2col, 1}, {Method::fft, 2}});
  std::vector<KernelSample> others;
  add(others, {.kernel = large}, {{Method::im2col, 5}, {Method::fft, 4}});
  std::vector<KernelSample> all = some;
  all.insert(all.end(), others.begin(), others.end());
  const auto right_of_some = models({{Method::im2col, 1}, {Method::fft, 2}});
  const auto right_of_others = models({{Method::im2col, 5}, {Method::fft, 4}});
  const ChoiceEvidence evidence = all_complete(all);
  const std::vector<Unseen> right{{some, right_of_some}, {others, right_of_others}};
  EXPECT_EQ(judge_choices(right, evidence).all.predicted.choices, 2);
  EXPECT_EQ(judge_choices(right, evidence).all.predicted.best, 2);
  const std::vector<Unseen> wrong{{some, right_of_others}, {others, right_of_some}};
  EXPECT_EQ(judge_choices(wrong, evidence).all.predicted.best, 0);
  EXPECT_DOUBLE_EQ(judge_choices(wrong, evidence).all.predicted.loss(), 7.0 / 5 - 1);
}

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
