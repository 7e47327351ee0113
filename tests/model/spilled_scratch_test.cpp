// Scratch that the last-level cache does not hold from one stage to the next.
#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "model/roofline/fit/kernel_fit.hpp"
#include "model/roofline/kernels/kernel_terms.hpp"
#include "model/roofline/kernels/term_fit.hpp"

namespace dlscale::model {
namespace {

std::string spilled_scratch_key(int channels, int size) {
  const auto text = [](int number) { return std::to_string(number); };
  return "convolution c" + text(channels) + " h" + text(size) + " w" + text(size) + " k" +
         text(channels) + " r3 s3 stride1 pad1 groups1";
}

KernelCase spilled_scratch_case_of(const std::string& backend, int channels, int size, int batch) {
  return make_case({.backend = backend, .method = lowering::Method::winograd_f4},
                   spilled_scratch_key(channels, size), batch, 16);
}

double spilled(const KernelCase& what, Bytes last) {
  return terms_of(what, {Bytes(1 << 20), last}).always.at(static_cast<std::size_t>(Term::spilled));
}

TEST(SpilledScratch, IsHalfWhereTheWorkspaceIsAsLargeAsTheCache) {
  const KernelCase what = spilled_scratch_case_of("native", 128, 56, 4);
  const Bytes workspace = what.work.workspace;
  Bytes scratch;
  for (const lowering::Stage& stage : what.work.stages) scratch += stage.scratch;
  EXPECT_DOUBLE_EQ(spilled(what, workspace), scratch.si() / 2);
  EXPECT_LT(spilled(what, 2 * workspace), 0.1 * scratch.si());
  EXPECT_GT(spilled(what, 0.5 * workspace), 0.9 * scratch.si());
}

TEST(SpilledScratch, IsNoneWhereALibraryDoesNotTellItsBlocks) {
  EXPECT_EQ(spilled(spilled_scratch_case_of("onednn", 128, 56, 4), Bytes(1 << 20)), 0);
}

/// A machine of 100 GFLOP/s on which what is lost costs 0.2 ns a byte.
Amounts spilled_scratch_truth() {
  Amounts parameters{};
  const auto set = [&](Term term, double value) {
    parameters.at(static_cast<std::size_t>(term)) = value;
  };
  set(Term::start, 5e-6);
  set(Term::multiply, 1e-11);
  set(Term::transform_bytes, 2e-11);
  set(Term::spilled, 2e-10);
  return parameters;
}

std::vector<KernelSample> spilled_scratch_samples(const Caches& caches) {
  std::vector<KernelSample> all;
  for (const int channels : {32, 48, 64, 96, 128, 192, 256, 384, 512}) {
    for (const int size : {7, 14, 28, 56, 112}) {
      const KernelCase what = spilled_scratch_case_of("native", channels, size, 4);
      all.push_back({what, time_of(terms_of(what, caches), spilled_scratch_truth()), {}});
    }
  }
  return all;
}

TEST(SpilledScratch, IsFoundAgainWithTheSizeOfTheCache) {
  for (const double mebibytes : {8.0, 12.0, 24.0}) {
    const Bytes last(mebibytes * 1024 * 1024);
    const auto measured = spilled_scratch_samples({Bytes(1 << 20), last});
    FitEvidence evidence;
    for (const KernelSample& sample : measured) evidence.own.push_back(&sample);
    const TermFit fit = fit_terms(evidence);
    EXPECT_EQ(fit.caches.last, last);
    EXPECT_NEAR(fit.parameters.at(static_cast<std::size_t>(Term::spilled)), 2e-10, 1e-11);
  }
}

TEST(SpilledScratch, IsPredictedAtShapesThatWereNotFitted) {
  ChoiceEvidence evidence;
  const auto all = spilled_scratch_samples({Bytes(1 << 20), Bytes(12.0 * 1024 * 1024)});
  const KernelJudgement judgement = judge_kernels(all, evidence, JudgedHalves::both);
  EXPECT_LT(judgement.algorithms.back().p90, 0.02);
  EXPECT_LT(judgement.algorithms_of_both_halves.back().p90, 0.02);
}

}  // namespace
}  // namespace dlscale::model
