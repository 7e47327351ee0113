#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "model/published/scaling/facts/facts.hpp"
#include "tests/model/scaling/example_case.hpp"

namespace dlscale::model::scaling {
namespace {

using Lists = std::vector<std::vector<ScalingMessage>>;

TrainingFacts facts_of(const cases::CaseNetwork& network, cases::Overlap overlap,
                       const std::string& framework) {
  cases::ScalingCase training = test::example_case();
  training.network = network;
  training.run.overlap = overlap;
  training.run.framework = framework;
  return training_facts(training, test::sources());
}

/// Share of the gradients, and when it is ready.
using Share = std::pair<double, double>;

void expect_shares(const TrainingFacts& facts, const std::vector<Share>& expected) {
  const Lists lists = message_lists(facts);
  ASSERT_EQ(lists.size(), 1U);
  ASSERT_EQ(lists[0].size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_NEAR(lists[0][i].size / facts.gradient, expected[i].first, 1e-5) << i;
    EXPECT_NEAR(lists[0][i].ready, expected[i].second, 1e-5) << i;
  }
}

void expect_whole(const TrainingFacts& facts) {
  for (const auto& messages : message_lists(facts)) {
    Bytes sum;
    double last = 0;
    for (const ScalingMessage& message : messages) {
      EXPECT_GT(message.size, Bytes());
      EXPECT_GE(message.ready, last);
      last = message.ready;
      sum += message.size;
    }
    EXPECT_NEAR(sum / facts.gradient, 1, 1e-9);
    EXPECT_NEAR(last, 1, 1e-9);
  }
}

/// Figures of another program with the same assumptions.
TEST(MessageLists, FillBucketsOfPyTorch) {
  expect_shares(facts_of(test::resnet50(), cases::Overlap::bucketed, "PyTorch DDP"),
                {{0.08013, 0.00045},
                 {0.30820, 0.08675},
                 {0.27739, 0.18144},
                 {0.25715, 0.49724},
                 {0.07713, 1.0}});
}

TEST(MessageLists, FuseWhatIsReadyTogetherByHorovod) {
  expect_shares(facts_of(test::resnet50(), cases::Overlap::bucketed, "Horovod 0.19"),
                {{0.47063, 0.11057},
                 {0.24916, 0.24592},
                 {0.11053, 0.37241},
                 {0.09264, 0.49787},
                 {0.03987, 0.61734},
                 {0.02192, 0.72732},
                 {0.00987, 0.85893},
                 {0.00540, 1.0}});
  // The embedding of 94 MB does not fit with what is ready before, and goes by itself.
  const TrainingFacts bert = facts_of(test::bert_base(), cases::Overlap::bucketed, "Horovod 0.19");
  const Lists lists = message_lists(bert);
  ASSERT_EQ(lists.size(), 1U);
  ASSERT_GE(lists[0].size(), 9U);
  EXPECT_GT(lists[0].back().size, bert.framework.bucket);
}

TEST(MessageLists, WithoutFusingAreTheTensorsUnlessTheRuntimeFuses) {
  const auto wfbp = cases::Overlap::wfbp;
  EXPECT_EQ(message_lists(facts_of(test::resnet50(), wfbp, "Horovod 0.19"))[0].size(), 161U);
  EXPECT_EQ(message_lists(facts_of(test::resnet50(), wfbp, "OneFlow: x"))[0].size(), 12U);
  EXPECT_EQ(message_lists(facts_of(test::bert_base(), wfbp, "OneFlow: x"))[0].size(), 29U);
}

TEST(MessageLists, WithoutOverlapAreOneMessage) {
  expect_shares(facts_of(test::resnet50(), cases::Overlap::none, "Horovod 0.19"), {{1, 1}});
}

TEST(MessageLists, MergedAreManyWaysFromOneMessageOn) {
  const Lists lists =
      message_lists(facts_of(test::resnet50(), cases::Overlap::merged, "Horovod 0.19"));
  std::vector<std::size_t> sizes;
  for (const auto& messages : lists) sizes.push_back(messages.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 2, 2, 3, 3, 5, 5, 7, 8, 12, 16, 19, 32}));
  EXPECT_NEAR(lists[1][0].ready, 0.13556, 1e-5);
  EXPECT_NEAR(lists[2][0].ready, 0.49787, 1e-5);
}

TEST(MessageLists, OfServersAreTheTensors) {
  cases::ScalingCase training = test::example_case();
  training.run.synchronisation = cases::Synchronisation::parameter_server;
  training.run.overlap = cases::Overlap::none;
  EXPECT_EQ(message_lists(training_facts(training, test::sources()))[0].size(), 161U);
}

TEST(MessageLists, HoldAllGradientsInOrder) {
  using cases::Overlap;
  for (const Overlap overlap : {Overlap::none, Overlap::wfbp, Overlap::bucketed, Overlap::merged,
                                Overlap::scheduled, Overlap::unknown}) {
    for (const char* framework : {"PyTorch", "Horovod 0.21", "OneFlow", "CNTK", "nobody knows"}) {
      expect_whole(facts_of(test::resnet50(), overlap, framework));
      expect_whole(facts_of(test::bert_base(), overlap, framework));
    }
  }
}

}  // namespace
}  // namespace dlscale::model::scaling
