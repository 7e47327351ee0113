#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "core/cluster/cluster.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/parallel/answer/answer.hpp"
#include "model/parallel/answer/setting_at_points.hpp"
#include "model/parallel/explain/improvements.hpp"
#include "tests/model/parallel/question_of_8b.hpp"

/// What a measured iteration says of its plan on other GPUs, and of other plans.
namespace dlscale::model::parallel_time {
namespace {

/// A plan of a decoder on 64 H100, cold and by a point of another plan there.
class OtherPlans : public testing::Test {
 protected:
  static ParallelQuestion asked() {
    ParallelQuestion question = question_of_8b(8192, 128);
    question.framework = "megatron-core";
    return question;
  }
  [[nodiscard]] ParallelHardware on(int gpus) const {
    return parallel_hardware(load_cluster("dgx_h100"), gpus);
  }
  [[nodiscard]] ParallelAnswer cold(const std::string& plan, int gpus = 64) const {
    const ParallelHardware hardware = on(gpus);
    return predict_plan(file, question, hardware, setting_of(file, question, hardware),
                        filled(plan, gpus));
  }
  [[nodiscard]] ParallelAnswer warm(const std::string& plan, int gpus = 64) const {
    const ParallelHardware hardware = on(gpus);
    const Setting setting = setting_of(file, question, hardware);
    const parallel::ParallelPlan asked = filled(plan, gpus);
    const SettingAtPoints at = setting_at_points(file, setting, measured.points,
                                                 sizes_of(question, *setting.family, asked),
                                                 measured.is(question, *setting.family, asked));
    ParallelAnswer answer = predict_plan(file, question, hardware, at.setting, asked);
    answer.range = at.change.range(answer.range);
    return answer;
  }
  void measure(const std::string& plan, double slowness, int gpus = 64) {
    const ParallelAnswer before = cold(plan, gpus);
    measured.plan = filled(plan, gpus);
    MeasuredPoint point{before.sizes, on(gpus).links, slowness * before.seconds(), measured.plan};
    point.surprise = surprise_of(point.seconds, before.seconds(), before.low(), before.high());
    measured.points = {point};
  }
  static parallel::ParallelPlan filled(const std::string& text, int gpus) {
    parallel::ParallelPlan plan = parallel::parse_plan(text);
    plan.data = gpus / (plan.tensor * plan.context * plan.stages);
    return plan;
  }

  [[nodiscard]] bool is_measured(const parallel::ParallelPlan& plan) const {
    return measured.is(question, *setting_of(file, question, on(64)).family, plan);
  }

  const ParallelTimeFile& file = parallel_times();
  ParallelQuestion question = asked();
  MeasuredPlan measured;
};

constexpr const char* measured_plan = "tensor=8,sequence_parallel=true,micro_batch=1";
const std::array other_plans{
    "tensor=8,sequence_parallel=true,micro_batch=1,zero=1",
    "tensor=8,sequence_parallel=true,micro_batch=1,recompute=full",
    "tensor=4,sequence_parallel=true,micro_batch=1",
    "tensor=8,sequence_parallel=true,micro_batch=2",
    "tensor=2,sequence_parallel=true,stages=4,micro_batch=1",
    "tensor=8,context=2,sequence_parallel=true,micro_batch=1",
};

TEST_F(OtherPlans, AreNarrowedByAPointWithinItsInterval) {
  for (const double slowness : {0.85, 0.99, 1.0, 1.01, 1.2, 1.35}) {
    measure(measured_plan, slowness);
    ASSERT_LE(measured.points.front().surprise, 1) << slowness;
    for (const int gpus : {16, 64, 512}) {
      const ParallelAnswer before = cold(measured_plan, gpus);
      const ParallelAnswer after = warm(measured_plan, gpus);
      EXPECT_LT(after.range.high, before.range.high) << gpus << ' ' << slowness;
      EXPECT_GT(after.range.low, before.range.low) << gpus << ' ' << slowness;
    }
    for (const char* plan : other_plans) {
      const ParallelAnswer before = cold(plan);
      const ParallelAnswer after = warm(plan);
      EXPECT_LE(after.range.high, 1.001 * before.range.high) << plan << ' ' << slowness;
      EXPECT_GE(after.range.low, before.range.low / 1.001) << plan << ' ' << slowness;
    }
  }
}

/// Errors are the likelier the same, the more alike plans are, and follow none further.
TEST_F(OtherPlans, FollowByTheirLikeness) {
  for (const double slowness : {0.8, 1.2}) {
    measure(measured_plan, slowness);
    const auto followed = [&](const char* plan) {
      return std::log(warm(plan).time.total / cold(plan).time.total) / std::log(slowness);
    };
    EXPECT_NEAR(followed(measured_plan), 1, 1e-9);
    for (const char* alike : {other_plans[0], other_plans[1]}) {
      EXPECT_GT(followed(alike), 0.5) << alike << ' ' << slowness;
    }
    for (const char* plan : other_plans) {
      EXPECT_GT(followed(plan), 0) << plan << ' ' << slowness;
      EXPECT_LT(followed(plan), 1.02) << plan << ' ' << slowness;
    }
    EXPECT_LT(followed("tensor=8,sequence_parallel=true,micro_batch=4"), followed(other_plans[3]));
  }
}

TEST_F(OtherPlans, StayWhereAPointIsAsPredicted) {
  measure(measured_plan, 1);
  for (const char* plan : other_plans) {
    EXPECT_NEAR(warm(plan).time.total / cold(plan).time.total, 1, 1e-9) << plan;
  }
}

/// A point beyond its interval shows errors larger than the model expects.
TEST_F(OtherPlans, AreWidenedByAPointThatRefutesTheModel) {
  for (const double slowness : {0.4, 3.0}) {
    measure(measured_plan, slowness);
    for (const char* plan : other_plans) {
      EXPECT_GE(warm(plan).range.high, 0.999 * cold(plan).range.high) << plan << ' ' << slowness;
    }
    EXPECT_GT(warm(other_plans[2]).range.high, 1.1 * cold(other_plans[2]).range.high);
  }
}

/// What would help is the same beside a slow or a quick point as without one: a change that does
/// nothing gains nothing there, and none vanishes.
TEST_F(OtherPlans, GainAtAPointWhatTheyGainWithoutIt) {
  for (const std::string plan : {"tensor=8,stages=2,micro_batch=1,recompute=full", measured_plan}) {
    const auto gains_by = [&](const Setting& setting, const ParallelAnswer& now) {
      std::map<std::string, double> gains;
      for (const Improvement& one :
           improvements(file, question, on(64), setting, filled(plan, 64), now)) {
        gains[one.change] = one.gain;
      }
      return gains;
    };
    const Setting unmoved = setting_of(file, question, on(64));
    const auto before = gains_by(unmoved, cold(plan));
    ASSERT_GE(before.size(), 2U);
    for (const double slowness : {0.8, 1.2, 3.0}) {
      measure(plan, slowness);
      const Setting moved =
          setting_at_points(file, unmoved, measured.points, measured.points.front().plan, true)
              .setting;
      const auto after = gains_by(moved, warm(plan));
      for (const auto& [change, gain] : before) {
        const auto found = after.find(change);
        if (gain > 0.03) ASSERT_NE(found, after.end()) << change << ' ' << slowness;
        if (found != after.end()) EXPECT_NEAR(found->second, gain, 0.02 + 0.3 * gain) << change;
      }
      for (const auto& [change, gain] : after) {
        if (gain > 0.03) EXPECT_TRUE(before.contains(change)) << change << ' ' << slowness;
      }
    }
  }
}

TEST_F(OtherPlans, AreTheMeasuredOnesWithOtherReplicas) {
  measure(measured_plan, 1.1);
  EXPECT_TRUE(is_measured(filled(measured_plan, 512)));
  EXPECT_FALSE(is_measured(filled(other_plans[0], 64)));
}

/// All texts of one training have one answer.
TEST_F(OtherPlans, AreTheMeasuredOnesHoweverTheyAreWritten) {
  struct Spelled {
    const char* plan;
    std::vector<const char*> same;
    std::vector<const char*> others;
  };
  const std::array all{
      Spelled{measured_plan,
              {"", ",compile=false", ",tensor_overlap=false", ",zero=1,zero_group=1",
               ",optimizer=adam", ",weight_bytes=2", ",schedule=gpipe", ",stage_layers=32",
               ",order=branches/tensor/stages/context/data"},
              {",zero=1", ",tensor_overlap=true", ",weight_bytes=4", ",recompute=full",
               ",gradient_bytes=2"}},
      Spelled{"tensor=8,sequence_parallel=true,micro_batches=32,stages=2",
              {",stage_layers=16/16", ",schedule=1f1b"},
              {",stage_layers=15/17", ",schedule=gpipe"}},
      Spelled{"tensor=8,micro_batch=1,zero=1", {",zero_group=8"}, {",zero_group=4"}}};
  for (const Spelled& one : all) {
    measure(one.plan, 1.3);
    const double seconds = warm(one.plan).seconds();
    for (const char* keys : one.same) {
      EXPECT_TRUE(is_measured(filled(std::string(one.plan) + keys, 64))) << keys;
      EXPECT_NEAR(warm(std::string(one.plan) + keys).seconds() / seconds, 1, 1e-12) << keys;
    }
    for (const char* keys : one.others) {
      EXPECT_FALSE(is_measured(filled(std::string(one.plan) + keys, 64))) << keys;
    }
  }
  measure(measured_plan, 1.3);
  EXPECT_TRUE(is_measured(filled("tensor=8,sequence_parallel=true,micro_batches=16", 64)));
  EXPECT_FALSE(is_measured(filled("tensor=8,sequence_parallel=true,micro_batches=8", 64)));
}

}  // namespace
}  // namespace dlscale::model::parallel_time
