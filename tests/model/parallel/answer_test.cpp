#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <string>

#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/cluster/device_file.hpp"
#include "core/cluster/device_memory.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/memory/plan_setup.hpp"
#include "model/parallel/answer/allocator.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/answer/fit_chance.hpp"
#include "model/parallel/answer/setting_at_points.hpp"
#include "model/parallel/answer/step_parts.hpp"
#include "model/published/cases/case_file.hpp"
#include "model/published/parallel/predictor.hpp"
#include "model/published/parallel/training.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "tests/model/parallel/asked_plan.hpp"

/// Plans of a user, by the same functions as published trainings.
namespace dlscale::model::parallel_time {
namespace {

const std::array<AskedCase, 16> alike{
    {{"megatron-22b-full", "tensor=8,micro_batch=4,recompute=full"},
     {"gpt3-175b-seqsel",
      "tensor=8,sequence_parallel=true,stages=8,chunks=3,schedule=interleaved,micro_batch=1,"
      "recompute=selective"},
     {"megatron-1t-full", "tensor=8,stages=64,micro_batch=1,recompute=full"},
     {"g2-b16-m8-h1024-l24-s1024-t1-d1-p2", "stages=2,micro_batch=8,recompute=full"},
     {"125m-a100-80gb-s4096-g8-m16", "data=8,micro_batch=16,zero=3"},
     {"1.34g-dp1-tp16-pp1-mbs1", "tensor=16,sequence_parallel=true,micro_batch=1"},
     {"1.34g-dp4-tp4-pp1-mbs16", "data=4,tensor=4,sequence_parallel=true,micro_batch=16,zero=1"},
     {"8.86g-dp2-tp4-pp1-mbs1", "data=2,tensor=4,sequence_parallel=true,micro_batch=1"},
     {"1.34g-dp8-tp8-pp1-mbs16", "data=8,tensor=8,sequence_parallel=true,micro_batch=16"},
     {"8B-dp8-H100-SXM5-80GB-bf16", "data=8,micro_batch=2,zero=1"},
     {"70B-tp4pp4-64-H100-SXM5-80GB-bf16",
      "data=4,tensor=4,sequence_parallel=true,stages=4,chunks=5,schedule=interleaved,micro_batch=1,"
      "zero=1"},
     {"mixtral-ep8-64-H100-SXM5-80GB-bf16", "data=64,experts=8,micro_batch=1,zero=1"},
     {"8B-fsdp8-titan-H100-SXM5-80GB-bf16", "data=8,micro_batch=1,zero=3,recompute=selective"},
     {"70B-tp8-cp2-fp32-A100",
      "tensor=8,context=2,stages=2,schedule=zero_bubble,micro_batch=1,zero=1,recompute=full"},
     {"1.34g-dp2-tp4-pp2-mbs1",
      "data=2,tensor=4,sequence_parallel=true,stages=2,stage_layers=10/6,micro_batch=1,zero=1"},
     {"70B-tp4pp4-64-H100-SXM5-80GB-fp8",
      "data=4,tensor=4,sequence_parallel=true,stages=4,chunks=5,schedule=interleaved,micro_batch=1,"
      "zero=1"}}};

TEST(ParallelAnswers, EqualThoseOfPublishedTrainings) {
  for (const AskedCase& one : alike) {
    cases::ScalingCase training = training_of(one.id);
    training.set = "another";  // that no fit left out
    const auto published = predict(parallel_times(), sheets(), std::array{training}).front();
    ASSERT_TRUE(published.values.front()) << one.id << ": " << published.reason;
    const ParallelAnswer answer = asked(one).answer();
    EXPECT_NEAR(answer.seconds() / published.values.front()->value, 1, 1e-9) << one.id;
    EXPECT_NEAR(answer.low() / published.values.front()->low.value(), 1, 1e-9) << one.id;
    EXPECT_NEAR(answer.high() / published.values.front()->high.value(), 1, 1e-9) << one.id;
  }
}

/// Both wait for memory where blocks are freed, by one rule.
TEST(ParallelAnswers, WaitForMemoryAsPublishedTrainingsDo) {
  cases::ScalingCase training = training_of("1.34g-dp1-tp16-pp1-mbs1");
  training.set = "another";
  for (const int micro_batch : {1, 32, 256}) {
    training.run.parallel.micro_batch = micro_batch;
    const auto published = predict(parallel_times(), sheets(), std::array{training}).front();
    const Asked question(
        training, "tensor=16,sequence_parallel=true,micro_batch=" + std::to_string(micro_batch));
    const ParallelAnswer answer = question.answer();
    EXPECT_NEAR(answer.seconds() / published.values.front()->value, 1, 1e-9) << micro_batch;
    EXPECT_NEAR(answer.high() / published.values.front()->high.value(), 1, 1e-9) << micro_batch;
    EXPECT_NEAR(published.terms.back().time.si(), answer.seconds() - answer.time.total, 1e-9);
    EXPECT_NEAR(step_parts(question.setting(), answer).total() / answer.seconds(), 1, 1e-9);
    EXPECT_EQ(answer.waits.likely > 1, micro_batch == 256) << answer.need.share;
  }
}

TEST(WaitsForMemory, GrowWithTheNeed) {
  const WaitingConstants& constants = parallel_times().waiting;
  const Family& frees = parallel_times().family("nanotron");
  const Family& keeps = parallel_times().family("engine");
  ASSERT_TRUE(frees.frees_blocks && !keeps.frees_blocks);
  const MemoryNeed half{0.5, 0.4};
  EXPECT_EQ(waits_for_memory(constants, frees, half).most, 1);
  const MemoryNeed nearly{0.96, 0.955};
  EXPECT_EQ(waits_for_memory(constants, frees, nearly).likely, 1);
  EXPECT_EQ(waits_for_memory(constants, keeps, nearly).most, constants.slow);
  const MemoryNeed full{1.2, 0.9};
  EXPECT_EQ(waits_for_memory(constants, frees, full).likely, constants.likely);
  EXPECT_EQ(waits_for_memory(constants, frees, full).most, constants.most);
  EXPECT_EQ(waits_for_memory(constants, frees, full).least, 1);
  EXPECT_EQ(waits_for_memory(constants, keeps, full).most, 1);
  EXPECT_EQ(waits_for_memory(constants, frees, full).decided().most, constants.likely);
  // InternEvo's published runs nearly fill their devices, and do not wait.
  for (const char* framework : {"InternEvo 2023-11", "Colossal-AI 2025", "transformers 4"}) {
    const Family* family = parallel_times().family_of_words(framework);
    ASSERT_NE(family, nullptr) << framework;
    EXPECT_EQ(waits_for_memory(constants, *family, full).likely, 1) << framework;
  }
}

/// Waits and verdicts take one figure of libraries.
TEST(WaitsForMemory, LeaveToLibrariesWhatVerdictsDo) {
  for (const AskedCase& one : alike) {
    Asked question = asked(one);
    const ParallelAnswer answer = question.answer();
    const auto counter = memory::MemoryCounter::reserved;
    const double reserved = answer.memory.peak(answer.memory.worst(counter).stage, counter).bytes;
    const double left = question.hardware().memory - answer.memory.libraries.bytes;
    EXPECT_DOUBLE_EQ(answer.need.share, reserved / left) << one.id;
  }
}

/// MiB that nvidia-smi prints for these cards.
TEST(UsableMemory, IsWhatCardsReport) {
  const std::map<std::string, double> reported{
      {"H100-SXM5-80GB", 81559}, {"H200", 143771}, {"B200", 183359}, {"GB200", 189471}};
  for (const auto& [card, mebibytes] : reported) {
    const double bytes = mebibytes * 1024 * 1024;
    EXPECT_NEAR(usable_memory(sheets().at(card).memory).si(), bytes, 0.002 * bytes) << card;
  }
}

/// One list says how a framework computes, keeps memory and which plans it runs.
TEST(Frameworks, AreKnownByTheirWords) {
  struct Known {
    const char* text;
    const char* memory;
    const char* runs;
  };
  for (const Known& one :
       {Known{"NVIDIA NeMo 25.02", "megatron", "megatron"}, Known{"mcore", "megatron", "megatron"},
        Known{"Megatron-LM 23e00ed, TE 2.11", "megatron", "megatron"},
        Known{"Megatron-DeepSpeed", "megatron", "megatron"},
        Known{"torchtitan, FSDP2", "torchtitan", "torchtitan"},
        Known{"nanotron 2024-12", "nanotron", "nanotron"},
        Known{"DeepSpeed", "modules", "deepspeed"}, Known{"transformers", "modules", ""},
        Known{"PyTorch FSDP (Composer)", "fsdp", ""}}) {
    const Family* family = parallel_times().family_of_words(one.text);
    ASSERT_NE(family, nullptr) << one.text;
    EXPECT_EQ(family->memory, one.memory) << one.text;
    EXPECT_EQ(family->runs, one.runs) << one.text;
    EXPECT_EQ(parallel_times().implementation_of(one.text).name, one.memory) << one.text;
  }
  EXPECT_EQ(parallel_times().family_of_words("own engine"), nullptr);
  EXPECT_EQ(parallel_times().implementation_of("own engine").name, "modules");
  const Family& kin = parallel_times().family("deepspeed");
  EXPECT_EQ(kin.own_work.launches, parallel_times().family("modules").own_work.launches);
  EXPECT_EQ(kin.compiling, Compiling::never);
  EXPECT_TRUE(kin.one_queue && !kin.frees_blocks);
}

/// One program has one time, however its name is written. Its option makes it quicker, which NeMo's
/// recipes set.
TEST(Frameworks, OfMegatronAnswerAlikeFromHopperOn) {
  const std::string plan = "data=4,tensor=4,sequence_parallel=true,stages=4,micro_batch=1,zero=1";
  const auto on_h100 = [&](const std::string& keys) {
    return asked({"70B-tp4pp4-64-H100-SXM5-80GB-bf16", plan + keys});
  };
  const Asked plain = on_h100("");
  const Asked overlapped = on_h100(",tensor_overlap=true");
  const double core = plain.seconds_by("megatron-core");
  for (const char* name :
       {"megatron", "megatron-lm", "Megatron-LM", "mcore", "Megatron-DeepSpeed"}) {
    EXPECT_EQ(plain.seconds_by(name), core) << name;
    EXPECT_EQ(overlapped.seconds_by(name), overlapped.seconds_by("megatron-core")) << name;
  }
  EXPECT_LT(overlapped.seconds_by("megatron"), core);
  EXPECT_LT(plain.seconds_by("nemo"), core);
  EXPECT_EQ(plain.seconds_by("nemo"), overlapped.seconds_by("nemo"));
  EXPECT_GT(on_h100(",tensor_overlap=false").seconds_by("nemo"), plain.seconds_by("nemo"));
}

TEST(Frameworks, OverlapMessagesOfTensorsIfTheyCan) {
  const auto on_a100 = [](const std::string& keys) {
    return asked({"gpt3-175b-seqsel",
                  "tensor=8,sequence_parallel=true,stages=8,micro_batch=1,recompute=full" + keys});
  };
  const Asked stated = on_a100(",tensor_overlap=true");
  EXPECT_LT(stated.seconds_by("megatron-core"), on_a100("").seconds_by("megatron-core"));
  for (const char* name : {"megatron", "transformers"}) {
    EXPECT_EQ(on_a100(",tensor_overlap=false").seconds_by(name), on_a100("").seconds_by(name));
    EXPECT_THROW((void)stated.seconds_by(name), ConfigError) << name;
  }
}

TEST(Frameworks, ThatNoTrainingDecidedComputeSlower) {
  const TimeConstants& all = parallel_times().constants;
  EXPECT_EQ(reached_by(parallel_times().family("nanotron"), all).product, all.product);
  const TimeConstants reached = reached_by(parallel_times().family("engine"), all);
  ASSERT_LT(all.unseen_family, 1);
  EXPECT_DOUBLE_EQ(reached.product, all.unseen_family * all.product);
  EXPECT_DOUBLE_EQ(reached.launch, all.launch / all.unseen_family);
  EXPECT_EQ(reached.node_share, all.node_share);
}

TEST(ParallelAnswers, KeepWhatTheTextOfAPlanSays) {
  for (const AskedCase& one : alike) {
    const Asked question = asked(one);
    const ParallelAnswer answer = question.answer();
    const ParallelAnswer again =
        question.answer(parallel::parse_plan(parallel::to_text(answer.plan)));
    EXPECT_EQ(again.plan, answer.plan) << one.id;
    EXPECT_EQ(
        again.memory.worst(memory::MemoryCounter::device).peak_bytes(memory::MemoryCounter::device),
        answer.memory.worst(memory::MemoryCounter::device)
            .peak_bytes(memory::MemoryCounter::device))
        << one.id;
  }
}

TEST(ParallelAnswers, HaveTheMemoryOfTheirPlan) {
  const Asked question =
      asked({"70B-tp4pp4-64-H100-SXM5-80GB-bf16",
             "data=4,tensor=4,sequence_parallel=true,stages=4,micro_batch=1,zero=1"});
  const ParallelAnswer answer = question.answer();
  parallel::ParallelPlan plan = question.plan();
  plan.bytes = {.weights = 2, .gradients = 0, .main_gradients = 4, .master = 4, .moments = 8};
  const auto memory = memory::rank_memory(
      question.question().shape,
      memory::setup_of_plan(plan, parallel::batches_of(plan, facts_of(question.question()))),
      parallel_times().implementation_of("NeMo"));
  ASSERT_EQ(answer.memory.stages.size(), 4U);
  for (int stage = 0; stage < 4; ++stage) {
    EXPECT_EQ(answer.memory.peak(stage, memory::MemoryCounter::device).bytes,
              memory.peak(stage, memory::MemoryCounter::device).bytes);
  }
}

TEST(ParallelAnswers, GatherWeightsOfStagesAsTheirMemoryKeepsThem) {
  ParallelQuestion question = asked(alike[10]).question();
  const ParallelHardware hardware = parallel_hardware(load_cluster("dgx_h100"), 64);
  const auto plan = parallel::parse_plan("data=16,stages=4,micro_batch=1,zero=3,recompute=full");
  for (const char* framework : {"torchtitan", "DeepSpeed", "megatron"}) {
    question.framework = framework;
    const ParallelAnswer answer =
        predict_plan(parallel_times(), question, hardware,
                     setting_of(parallel_times(), question, hardware), plan);
    EXPECT_EQ(answer.sizes.keeps_gathered_stage, answer.memory.way.keeps_gathered_stage);
    EXPECT_EQ(answer.time.exposed_gradients > 0, answer.memory.way.keeps_gathered_stage);
  }
}

TEST(ParallelAnswers, AreNeverSlowerOnFasterLinks) {
  for (const AskedCase& one : alike) {
    Asked question = asked(one);
    double before = question.answer().seconds();
    for (double Links::*link : {&Links::inside, &Links::network}) {
      question.hardware().links.*link *= 2;
      const double after = question.answer().seconds();
      EXPECT_LE(after, before * (1 + 1e-12)) << one.id;
      before = after;
    }
  }
}

TEST(ParallelAnswers, PartsAddUp) {
  for (const AskedCase& one : alike) {
    const Asked question = asked(one);
    const ParallelAnswer answer = question.answer();
    const StepParts parts = step_parts(question.setting(), answer);
    EXPECT_NEAR(parts.total() / answer.seconds(), 1, 1e-9) << one.id;
    for (const double part :
         {parts.compute, parts.messages, parts.bubble, parts.gradients, parts.update}) {
      EXPECT_GE(part, 0) << one.id;
    }
    EXPECT_EQ(parts.bubble > 0, answer.plan.stages > 1) << one.id;
  }
}

TEST(ParallelAnswers, SayWhatAStepIsBoundBy) {
  PlanSizes plan;
  plan.tensor = 8;
  EXPECT_EQ(bound_of({.compute = 1, .messages = 2}, plan), "tensor messages");
  plan.experts = 8;
  EXPECT_EQ(bound_of({.compute = 1, .messages = 2}, plan), "messages in layers");
  EXPECT_EQ(bound_of({.compute = 3, .messages = 2}, plan), "compute");
  EXPECT_EQ(bound_of({.compute = 3, .is_host_bound = true}, plan), "host");
}

TEST(ParallelAnswers, ShardNothingInGroupsOfOne) {
  const std::string of = "8B-dp8-H100-SXM5-80GB-fp8";
  const double whole = asked({of, "data=8,micro_batch=2,zero=0"}).answer().seconds();
  for (const char* alone : {"zero=1,zero_group=1", "zero=3,zero_group=1"}) {
    const std::string plan = std::string("data=8,micro_batch=2,") + alone;
    EXPECT_EQ(asked({of, plan}).answer().seconds(), whole) << alone;
  }
  EXPECT_NE(asked({of, "data=8,micro_batch=2,zero=3"}).answer().seconds(), whole);
}

TEST(ParallelAnswers, RefuseBitsThatADeviceLacks) {
  Asked question = asked({"8B-dp8-H100-SXM5-80GB-fp8", "data=8,micro_batch=2,zero=1"});
  EXPECT_LT(question.answer().seconds(), asked(alike[9]).answer().seconds());
  question.hardware().device = sheets().at("A100-SXM4-80GB");
  EXPECT_THROW(static_cast<void>(question.setting()), ConfigError);
}

TEST(ParallelAnswers, RefuseFormatsThatADeviceLacks) {
  ParallelQuestion question = asked(alike[9]).question();
  const ParallelHardware p40 = parallel_hardware(load_cluster("p40x16"), 8);
  for (const Precision format : {Precision::half, Precision::tf32}) {
    question.precision = format;
    EXPECT_EQ(p40.device.peak.contains(SheetFormat::f16) && format == Precision::half, false);
    EXPECT_THROW(static_cast<void>(setting_of(parallel_times(), question, p40)), ConfigError);
  }
  question.precision = Precision::f32;
  EXPECT_NO_THROW(static_cast<void>(setting_of(parallel_times(), question, p40)));
}

TEST(ParallelAnswers, ComputeF32WithoutTf32) {
  ParallelQuestion question = asked(alike[9]).question();
  const ParallelHardware h100 = parallel_hardware(load_cluster("dgx_h100"), 8);
  question.precision = Precision::f32;
  const Setting plain = setting_of(parallel_times(), question, h100);
  EXPECT_EQ(plain.rates.layer.peak, h100.device.peak.at(SheetFormat::f32).si());
  question.precision = Precision::tf32;
  EXPECT_GT(setting_of(parallel_times(), question, h100).rates.layer.peak, plain.rates.layer.peak);
}

TEST(StatesOfPlans, AreThoseOfTheFamilyUnlessStated) {
  const Family& engine = parallel_times().family("engine");
  const auto plan = parallel::parse_plan("data=8");
  EXPECT_EQ(state_bytes_of(engine, plan).main_gradients, 4);
  EXPECT_EQ(state_bytes_of(engine, plan, Precision::f32), (parallel::StateBytes{4, 4, 0, 0, 8}));
  EXPECT_EQ(state_bytes_of(engine, parallel::parse_plan("optimizer=sgd")).moments, 0);
}

TEST(StatesOfPlans, KeepThoseOfTheFamilyBesideAStatedOne) {
  const Family& engine = parallel_times().family("engine");
  const parallel::StateBytes usual = state_bytes_of(engine, parallel::parse_plan("data=8"));
  using Bytes = parallel::StateBytes;
  const std::array<std::pair<const char*, std::optional<double> Bytes::*>, 5> keys{
      {{"weight_bytes", &Bytes::weights},
       {"gradient_bytes", &Bytes::gradients},
       {"main_gradient_bytes", &Bytes::main_gradients},
       {"master_bytes", &Bytes::master},
       {"moment_bytes", &Bytes::moments}}};
  for (const auto& [key, member] : keys) {
    for (const double stated : {0.0, 2.0, 3.0, 4.0}) {  // among them f32's own
      Bytes expected = usual;
      expected.*member = stated;
      const auto plan = parallel::parse_plan(std::string(key) + "=" + std::to_string(stated));
      EXPECT_EQ(state_bytes_of(engine, plan), expected) << key << " " << stated;
    }
  }
}

TEST(ChanceToFit, IsThatOfTheEndsOfTheInterval) {
  const memory::MemoryEstimate need{.bytes = 60, .low = 50, .high = 80};
  EXPECT_NEAR(chance_of({0, need, 60}), 0.5, 1e-12);
  EXPECT_NEAR(chance_of({0, need, 80}), 0.95, 1e-9);
  EXPECT_NEAR(chance_of({0, need, 50}), 0.05, 1e-9);
  EXPECT_EQ(chance_of({0, {60, 60, 60}, 61}), 1);
}

/// A point says less of plans that are less alike, in whatever they differ.
TEST(MeasuredPlans, OfLessLikenessAreLessSure) {
  const MeasuredConstants& constants = parallel_times().measured;
  const PlanScale one{64, 2, 8, 4};
  EXPECT_EQ(likeness(constants, one, one), constants.correlation);
  for (double PlanScale::*part :
       {&PlanScale::gpus, &PlanScale::micro_batch, &PlanScale::cuts, &PlanScale::stages}) {
    double before = constants.correlation;
    for (const double times : {2, 8}) {
      PlanScale other = one;
      other.*part *= times;
      const double alike = likeness(constants, one, other);
      EXPECT_LT(alike, before) << times;
      EXPECT_GT(alike, 0) << times;
      EXPECT_EQ(likeness(constants, other, one), alike) << times;
      before = alike;
    }
  }
}

/// Another plan follows the likeliest point, and is the surer for it the less that point surprises.
TEST(MeasuredPlans, ChangeOthersByTheirLikeness) {
  const MeasuredConstants& constants = parallel_times().measured;
  PredictedPoint point{64, 1.2, 1, 0.5, 0.6};
  const auto change = [&](bool is_measured_plan) {
    return change_by_points(constants, std::array{point}, 64, is_measured_plan);
  };
  EXPECT_NEAR(change(false).factor, std::pow(1.2, 0.6), 1e-12);
  EXPECT_NEAR(change(false).power, 0.8, 1e-12);
  EXPECT_EQ(change(false).repetition, 0);
  EXPECT_NEAR(change(true).factor, 1.2, 1e-12);
  EXPECT_EQ(change(true).power, 0);
  EXPECT_NEAR(change(true).repetition, std::log1p(constants.repetition), 1e-12);
  point.surprise = 1.1;
  EXPECT_NEAR(change(false).power, 0.88, 1e-12);
  point.surprise = 2;
  EXPECT_NEAR(change(false).power, 1.6, 1e-12);
  EXPECT_NEAR(change(false).factor, std::pow(1.2, 0.3), 1e-12);
  point.surprise = 1e6;
  EXPECT_NEAR(change(false).power, 0.8 * constants.widest, 1e-12);
}

/// The end of a point's interval changes no other plan by a step.
TEST(MeasuredPlans, ChangeOthersWithoutAJump) {
  const MeasuredConstants& constants = parallel_times().measured;
  for (const double limit : {1.0, 1.25, constants.widest}) {
    for (const bool is_measured_plan : {false, true}) {
      const auto change = [&](double surprise) {
        const PredictedPoint point{64, 1.2, 1, surprise, 0.6};
        return change_by_points(constants, std::array{point}, 96, is_measured_plan);
      };
      constexpr double step = 1e-9;
      EXPECT_NEAR(change(limit - step).power, change(limit + step).power, 1e-8) << limit;
      EXPECT_NEAR(change(limit - step).factor, change(limit + step).factor, 1e-8) << limit;
    }
  }
}

/// A surprise elsewhere does not widen what a likelier point decides.
TEST(MeasuredPlans, ChangeOthersByOnePoint) {
  const MeasuredConstants& constants = parallel_times().measured;
  const PredictedPoint near{64, 1, 1, 0.5, 0.8};
  const PredictedPoint far{1024, 2, 1, 3, 0.3};
  EXPECT_NEAR(change_by_points(constants, std::array{far, near}, 64, false).power, 0.6, 1e-12);
  EXPECT_GT(change_by_points(constants, std::array{near, far}, 1024, false).power, 0.5);
}

/// Surprise begins at the ends of an interval, on either side.
TEST(MeasuredPlans, SurpriseBeyondTheirInterval) {
  EXPECT_NEAR(surprise_of(3, 2, 1.5, 3), 1, 1e-12);
  EXPECT_NEAR(surprise_of(1.5, 2, 1.5, 3), 1, 1e-12);
  EXPECT_NEAR(surprise_of(2, 2, 1.5, 3), 0, 1e-12);
  EXPECT_NEAR(surprise_of(4.5, 2, 1.5, 3), 2, 0.01);
}

TEST(MeasuredPlans, AreMetAtTheirPoints) {
  Asked question = asked(alike[8]);
  const ParallelAnswer answer = question.answer();
  const Setting setting = question.setting();
  MeasuredPoint few{answer.sizes, setting.collectives.links(), 1};
  MeasuredPoint many = few;
  many.links.gpus *= 4;
  few.seconds = 1.02 * predicted_seconds(setting, setting.constants, few);
  many.seconds = 1.0608 * predicted_seconds(setting, setting.constants, many);
  const std::array points{many, few};
  const double gpus = few.links.gpus;
  const auto at = [&](double on) {
    Links links = few.links;
    links.gpus = on;
    return setting_at_points(parallel_times(), with_constants(setting, setting.constants, links),
                             points, answer.sizes, true);
  };
  for (const MeasuredPoint& point : points) {
    const SettingAtPoints met = at(point.links.gpus);
    const double seconds = predicted_seconds(met.setting, met.setting.constants, point);
    EXPECT_NEAR(met.setting.measured_factor * seconds / point.seconds, 1, 1e-9);
    EXPECT_NEAR(met.change.range(answer.range).high, 1.03, 1e-9);
    EXPECT_NEAR(met.change.range(answer.range).low, 1 / 1.03, 1e-9);
  }
  EXPECT_NEAR(at(2 * gpus).change.factor,
              std::sqrt(at(gpus).change.factor * at(4 * gpus).change.factor), 1e-9);
  EXPECT_NEAR(at(64 * gpus).change.factor, at(4 * gpus).change.factor, 1e-9);
  EXPECT_NEAR(at(1).change.factor, at(gpus).change.factor, 1e-9);
  EXPECT_GT(at(1.5 * gpus).change.power, at(1.2 * gpus).change.power);
}

TEST(MeasuredPlans, TakeAMeasuredFactor) {
  Asked question = asked(alike[8]);
  const ParallelAnswer answer = question.answer();
  Setting setting = question.setting();
  setting.measured_factor = 2;
  const ParallelAnswer slow = predict_plan(parallel_times(), question.question(),
                                           question.hardware(), setting, question.plan());
  EXPECT_NEAR(slow.seconds() / answer.seconds(), 2, 1e-12);
  EXPECT_NEAR(step_parts(setting, slow).compute / step_parts(setting, answer).compute, 2, 1e-9);
}

TEST(ParallelHardwares, AreOfClustersOfGpus) {
  const ParallelHardware hardware = parallel_hardware(load_cluster("dgx_h100"), 64);
  EXPECT_EQ(hardware.links.gpus, 64);
  EXPECT_EQ(hardware.links.node_gpus, 8);
  EXPECT_NEAR(hardware.memory / 1e9, 85.5, 0.1);
  EXPECT_THROW(parallel_hardware(load_cluster("stampede2_skx"), 8), ConfigError);
}

/// A device has one capacity, whatever the question.
TEST(Memory, OfADeviceIsTheSameInAllModels) {
  for (const char* name : {"dgx_h100", "p40x16", "h200x8"}) {
    const Cluster cluster = load_cluster(name);
    EXPECT_EQ(memory_of_rank(cluster, {}).si(), parallel_hardware(cluster, 1).memory) << name;
  }
}

}  // namespace
}  // namespace dlscale::model::parallel_time
