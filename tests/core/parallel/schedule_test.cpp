#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/schedule/check_schedule.hpp"
#include "core/parallel/schedule/family.hpp"
#include "tests/core/support.hpp"

/// The lists of every schedule of pipelines: whole, in order, and refused once damaged.
namespace dlscale::parallel {
namespace {

/// Shapes of few and many stages that a schedule supports.
std::vector<PipelineShape> shapes_of(const PipelineSchedule& schedule) {
  std::vector<PipelineShape> shapes;
  for (const int stages : {1, 2, 3, 4, 5, 8}) {
    for (const int chunks : {1, 2, 3}) {
      for (const int micro_batches : {1, 2, 3, 4, 5, 8, 10, 16, 24}) {
        const PipelineShape shape{stages, chunks, micro_batches};
        if (obstacle(schedule, shape).empty()) shapes.push_back(shape);
      }
    }
  }
  return shapes;
}

std::string text(const PipelineShape& shape) {
  return std::to_string(shape.stages) + " stages, " + std::to_string(shape.chunks) + " chunks, " +
         std::to_string(shape.micro_batches) + " micro-batches";
}

class EverySchedule : public testing::TestWithParam<const PipelineSchedule*> {};

TEST_P(EverySchedule, CanBeRun) {
  const std::vector<PipelineShape> shapes = shapes_of(*GetParam());
  EXPECT_GE(shapes.size(), 5U);
  for (const PipelineShape& shape : shapes) {
    const Schedule schedule = GetParam()->schedule(shape);
    EXPECT_EQ(schedule.shape, shape);
    EXPECT_EQ(schedule.copies, GetParam()->copies);
    EXPECT_NO_THROW(check_schedule(schedule, Delivery::eager)) << text(shape);
    if (GetParam()->delivery == Delivery::rendezvous) {
      EXPECT_NO_THROW(check_schedule(schedule, Delivery::rendezvous)) << text(shape);
    }
  }
}

TEST_P(EverySchedule, NeedsTheDeliveryThatItStates) {
  if (GetParam()->delivery == Delivery::rendezvous) return;
  bool waits_for_ever = false;
  for (const PipelineShape& shape : shapes_of(*GetParam())) {
    try {
      check_schedule(GetParam()->schedule(shape), Delivery::rendezvous);
    } catch (const ConfigError&) {
      waits_for_ever = true;
    }
  }
  EXPECT_TRUE(waits_for_ever);
}

TEST_P(EverySchedule, SplitsBackwardIfItSaysSo) {
  for (const PipelineShape& shape : shapes_of(*GetParam())) {
    for (const std::vector<Operation>& rank : GetParam()->schedule(shape).ranks) {
      for (const Operation& operation : rank) {
        EXPECT_FALSE(GetParam()->splits_backward && operation.kind == OperationKind::backward);
        EXPECT_FALSE(!GetParam()->splits_backward &&
                     operation.kind == OperationKind::backward_weights);
      }
    }
  }
}

/// One entry of a list, at random.
struct Entry {
  std::vector<Operation>* list;
  std::size_t at;
};
Entry draw_entry(Schedule& schedule, std::mt19937& random) {
  while (true) {
    std::vector<Operation>& list = schedule.ranks[random() % schedule.ranks.size()];
    if (!list.empty()) return {&list, random() % list.size()};
  }
}

TEST_P(EverySchedule, IsRefusedWithoutOneOfItsOperations) {
  const std::vector<PipelineShape> shapes = shapes_of(*GetParam());
  std::mt19937 random(1);
  for (int i = 0; i < 400; ++i) {
    Schedule schedule = GetParam()->schedule(shapes[random() % shapes.size()]);
    const auto [list, at] = draw_entry(schedule, random);
    const Operation left_out = (*list)[at];
    list->erase(list->begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_THROW(check_schedule(schedule, Delivery::eager), ConfigError)
        << text(schedule.shape) << " without " << to_text(left_out);
  }
}

TEST_P(EverySchedule, IsRefusedWithAnOperationTwice) {
  const std::vector<PipelineShape> shapes = shapes_of(*GetParam());
  std::mt19937 random(2);
  for (int i = 0; i < 400; ++i) {
    Schedule schedule = GetParam()->schedule(shapes[random() % shapes.size()]);
    const auto [list, at] = draw_entry(schedule, random);
    const Operation again = (*list)[at];
    list->insert(list->begin() + static_cast<std::ptrdiff_t>(random() % (list->size() + 1)), again);
    EXPECT_THROW(check_schedule(schedule, Delivery::eager), ConfigError)
        << text(schedule.shape) << " with " << to_text(again) << " twice";
  }
}

/// Swaps the first two messages of one kind with the same rank; false without two.
bool swap_messages(std::vector<Operation>& list) {
  for (std::size_t one = 0; one < list.size(); ++one) {
    if (!is_message(list[one].kind)) continue;
    for (std::size_t other = one + 1; other < list.size(); ++other) {
      if (list[other].kind != list[one].kind || list[other].peer != list[one].peer) continue;
      std::swap(list[one], list[other]);
      return true;
    }
  }
  return false;
}

/// Receives of a kind from a rank must be in the order of its sends.
TEST_P(EverySchedule, IsRefusedWithTwoMessagesSwapped) {
  int swapped = 0;
  for (const PipelineShape& shape : shapes_of(*GetParam())) {
    const Schedule whole = GetParam()->schedule(shape);
    for (std::size_t rank = 0; rank < whole.ranks.size(); ++rank) {
      Schedule schedule = whole;
      if (!swap_messages(schedule.ranks[rank])) continue;
      ++swapped;
      EXPECT_THROW(check_schedule(schedule, Delivery::eager), ConfigError) << text(shape);
    }
  }
  // MAST has one batch each way, so that no two messages of a way can be swapped.
  EXPECT_EQ(swapped == 0, GetParam()->name == "gems_mast");
}

/// Shuffled lists are run or refused; the check always ends. Those that it takes keep all rules, so
/// that the other delivery may only refuse more.
TEST_P(EverySchedule, EndsOnShuffledLists) {
  const std::vector<PipelineShape> shapes = shapes_of(*GetParam());
  std::mt19937 random(4);
  int refused = 0;
  for (int i = 0; i < 1000; ++i) {
    Schedule schedule = GetParam()->schedule(shapes[random() % shapes.size()]);
    for (int swaps = 0; swaps < 2; ++swaps) {
      const Entry one = draw_entry(schedule, random);
      const std::size_t other = random() % one.list->size();
      std::swap((*one.list)[one.at], (*one.list)[other]);
    }
    const auto takes = [&](Delivery delivery) {
      try {
        check_schedule(schedule, delivery);
        return true;
      } catch (const ConfigError&) {
        return false;
      }
    };
    const bool eagerly = takes(Delivery::eager);
    if (!eagerly) ++refused;
    EXPECT_TRUE(eagerly || !takes(Delivery::rendezvous));
  }
  EXPECT_GT(refused, 500);
}

INSTANTIATE_TEST_SUITE_P(Family, EverySchedule,
                         testing::ValuesIn(family<PipelineSchedule>().members.begin(),
                                           family<PipelineSchedule>().members.end()),
                         [](const auto& info) { return std::string(info.param->name); });

/// Two stages and one micro-batch, of which tests damage an operation.
Schedule small() {
  return find_schedule("gpipe").schedule({2, 1, 2});
}

std::string refusal(const Schedule& schedule, Delivery delivery = Delivery::eager) {
  return test::config_error([&] { check_schedule(schedule, delivery); });
}

TEST(CheckSchedule, NamesTheLostMessage) {
  Schedule schedule = small();
  std::erase_if(schedule.ranks[0], [](const Operation& operation) {
    return operation.kind == OperationKind::send_activation && operation.micro_batch == 1;
  });
  test::expect_contains(refusal(schedule),
                        "Rank 1 of the pipeline receives from rank 0 the activation of part 0 on "
                        "micro-batch 1, and that does not send it.");
}

TEST(CheckSchedule, NamesSwappedMessages) {
  Schedule schedule = small();
  std::vector<Operation>& sends = schedule.ranks[0];
  std::swap(sends[1], sends[2]);  // forward of the second before the send of the first
  std::swap(sends[2], sends[3]);  // and its send, too
  test::expect_contains(refusal(schedule), "(they arrive in the order of the sends)");
}

TEST(CheckSchedule, NamesTheRankThatWaitsForEver) {
  // Each stage sends before it receives what the other sent before.
  const Schedule schedule = find_schedule("1f1b").schedule({2, 1, 3});
  test::expect_contains(refusal(schedule, Delivery::rendezvous), "waits for ever at the send of");
}

TEST(CheckSchedule, NamesParts) {
  Schedule schedule = small();
  schedule.ranks[0][0].part = 7;
  EXPECT_EQ(refusal(schedule),
            "Rank 0 of the pipeline lists the forward of part 7 on micro-batch 0, and there are 2 "
            "parts. Name one from 0 on.");
}

/// Both ranks hold both parts, and must agree on the order of their sums.
TEST(CheckSchedule, KeepsSumsInOneOrder) {
  Schedule schedule = find_schedule("gems_mast").schedule({2, 1, 2});
  std::vector<Operation>& list = schedule.ranks[0];
  const auto is_reduce = [](const Operation& operation) {
    return operation.kind == OperationKind::reduce;
  };
  const auto first = std::find_if(list.begin(), list.end(), is_reduce);
  std::swap(*first, *(first + 1));
  test::expect_contains(refusal(schedule), "reduce them in different orders");
}

/// Lists of anything, within and out of its range.
TEST(CheckSchedule, EndsOnRandomLists) {
  std::mt19937 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const auto up_to = [&](int most) { return static_cast<int>(random() % (most + 1)); };
    Schedule schedule{{up_to(4), up_to(3), up_to(4)}, 1 + up_to(1), {}};
    schedule.ranks.resize(static_cast<std::size_t>(up_to(4)));
    for (std::vector<Operation>& rank : schedule.ranks) {
      for (int count = up_to(30); count > 0; --count) {
        rank.push_back(
            {static_cast<OperationKind>(up_to(9)), up_to(13) - 1, up_to(6) - 1, up_to(6) - 1});
      }
    }
    for (const Delivery delivery : {Delivery::eager, Delivery::rendezvous}) {
      EXPECT_THROW(check_schedule(schedule, delivery), ConfigError);
    }
  }
}

TEST(FindSchedule, NamesWhatThereIs) {
  test::expect_contains(test::config_error([] { find_schedule("interleaf"); }),
                        "Did you mean \"interleaved\"?");
}

TEST(Obstacle, SaysWhatTheShapeLacks) {
  EXPECT_EQ(obstacle(find_schedule("interleaved"), {4, 2, 6}),
            "takes whole multiples of 4 micro-batches, one for each stage");
  EXPECT_EQ(obstacle(find_schedule("gpipe"), {4, 2, 6}), "takes one chunk per stage");
  EXPECT_EQ(obstacle(find_schedule("gpipe"), {1000, 1, 10'000}),
            "takes at most 1000000 parts of micro-batches in an iteration");
}

}  // namespace
}  // namespace dlscale::parallel
