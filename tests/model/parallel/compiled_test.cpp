#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/published/parallel/predictor.hpp"
#include "tests/model/parallel/asked_plan.hpp"

/// Steps that a framework compiles, and those that it does not.
namespace dlscale::model::parallel_time {
namespace {

const AskedCase titan{"8B-fsdp8-titan-H100-SXM5-80GB-bf16",
                      "data=8,micro_batch=1,zero=3,recompute=selective"};

/// Whether a run says that it compiles or does not say it: a case and a question that say the same
/// have one answer, or one refusal.
TEST(CompiledSteps, AreOneAnswerForCasesAndQuestions) {
  int refused = 0;
  for (const char* framework : {"torchtitan", "PyTorch FSDP", "MaxText", "NeMo", "Megatron-LM",
                                "nanotron", "DeepSpeed", "transformers", "own engine"}) {
    for (const std::optional<bool> compile : {std::optional<bool>(), {false}, {true}}) {
      cases::ScalingCase training = training_of(titan.id);
      training.set = "another";
      training.run.framework = framework;
      training.run.parallel.compile = compile;
      const auto published = predict(parallel_times(), sheets(), std::array{training}).front();
      if (published.status == cases::PredictionStatus::not_covered) {
        ++refused;
        training.run.parallel.compile.reset();
        Asked question(training, titan.plan);
        parallel::ParallelPlan plan = question.plan();
        plan.compile = compile;
        try {
          static_cast<void>(question.answer(plan));
          ADD_FAILURE() << framework << ": a question is answered";
        } catch (const ConfigError& error) {
          EXPECT_EQ(error.what(), published.reason);
        }
        continue;
      }
      const ParallelAnswer answer = Asked(training, titan.plan).answer();
      EXPECT_NEAR(answer.seconds() / published.values.front()->value, 1, 1e-9) << framework;
      EXPECT_NEAR(answer.high() / published.values.front()->high.value(), 1, 1e-9) << framework;
    }
  }
  EXPECT_EQ(refused, 5);  // four that do not compile, and one that always does
}

/// Unsaid, they are what the framework is published with. They differ in launches and element-wise
/// work alone.
TEST(CompiledSteps, AreThoseOfTheirOwnFamily) {
  const Asked question = asked(titan);
  const auto answer = [&](std::optional<bool> compile) {
    parallel::ParallelPlan plan = question.plan();
    plan.compile = compile;
    return question.answer(plan);
  };
  const ParallelAnswer eager = answer({});
  const ParallelAnswer compiled = answer(true);
  EXPECT_EQ(answer(false).seconds(), eager.seconds());
  EXPECT_LT(compiled.seconds(), eager.seconds());
  EXPECT_LT(compiled.time.layer.host.total(), eager.time.layer.host.total());
  EXPECT_LT(compiled.time.layer.elementwise.total(), eager.time.layer.elementwise.total());
  EXPECT_EQ(compiled.time.update, eager.time.update);
  EXPECT_EQ(compiled.time.layer.qkv.total(), eager.time.layer.qkv.total());
  EXPECT_EQ(compiled.plan.bytes, eager.plan.bytes);
  EXPECT_EQ(compiled.need.share, eager.need.share);
  const Asked xla = asked({titan.id, "data=8,micro_batch=1,zero=3"});
  EXPECT_GT(xla.seconds_by("MaxText"), 0);  // true is what it does
  Asked overlapped = asked({titan.id, "tensor=8,sequence_parallel=true,micro_batch=1"});
  parallel::ParallelPlan plan = overlapped.plan();
  plan.tensor_overlap = true;
  EXPECT_NO_THROW(static_cast<void>(overlapped.answer(plan)));
  plan.compile = false;
  EXPECT_THROW(static_cast<void>(overlapped.answer(plan)), ConfigError);
}

/// One call launches all pieces of a product, so that few bits, which leave the host less time,
/// change no sign.
TEST(CompiledSteps, AreNoSlowerWithMessagesUnderProducts) {
  for (const char* precision : {"bf16", "fp8"}) {
    for (const char* split : {"", "context=2,", "stages=4,"}) {
      cases::ScalingCase training = training_of("8B-fsdp8-titan-H100-SXM5-80GB-bf16");
      training.precision = precision;
      training.network.seq = 2048;
      training.gpus = 64;
      const Asked question(training, std::string("tensor=8,sequence_parallel=true,") + split +
                                         "micro_batch=1,zero=1,compile=true,recompute=full");
      const auto seconds = [&](bool overlap) {
        parallel::ParallelPlan plan = question.plan();
        plan.compile = true;
        plan.tensor_overlap = overlap;
        plan.data = static_cast<int>(64 / (8 * plan.context * plan.stages));
        return question.answer(plan).seconds();
      };
      EXPECT_LT(seconds(true), seconds(false)) << precision << ", " << split;
    }
  }
}

}  // namespace
}  // namespace dlscale::model::parallel_time
