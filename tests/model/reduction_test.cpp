#include "model/communication/reduction.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "model/calibrate/calibrate.hpp"
#include "tests/core/support.hpp"
#include "tests/model/synthetic_messages.hpp"

namespace dlscale::model {
namespace {

using namespace synthetic;

constexpr double gamma_of_links = 0.2e-9;

/// Reduces or broadcasts by binomial trees, whose bytes take 0.2 ns to add.
MessageFamily trees(collective::Collective collective, double gamma) {
  const collective::Link link{Seconds(10e-6), SecondsPerByte(0.5e-9), SecondsPerByte(gamma)};
  const auto* algorithm = collective::find(collective, "binomial");
  MessageFamily family = all_reduces(
      {{2, 2}, {4, 4}}, powers(1024, 1 << 24), [&](const Placement& layout, double bytes) {
        return algorithm->cost({link, link}, {.p = layout.ranks}, Bytes(bytes)).si();
      });
  family.collective = collective::to_string(collective);
  family.algorithm = "binomial";
  return family;
}

TEST(ReductionByDifference, FindsWhatAByteCosts) {
  const std::vector<MessageFamily> families{
      trees(collective::Collective::reduce, gamma_of_links),
      trees(collective::Collective::broadcast, gamma_of_links)};
  const auto found = reduction_by_difference(families);
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->per_byte.value.si(), gamma_of_links, 1e-14);
  EXPECT_LE(found->per_byte.low, found->per_byte.value);
  test::expect_contains(found->from, "reduce less broadcast by binomial");
}

TEST(ReductionByDifference, SaysNothingWithoutAPairOrADifference) {
  const MessageFamily reduce = trees(collective::Collective::reduce, gamma_of_links);
  EXPECT_FALSE(reduction_by_difference(std::vector{reduce}));
  const MessageFamily broadcast = trees(collective::Collective::broadcast, 0);
  EXPECT_FALSE(
      reduction_by_difference(std::vector{trees(collective::Collective::reduce, 0), broadcast}));
  MessageFamily waits = broadcast;
  waits.waiting = "sleep";
  EXPECT_FALSE(reduction_by_difference(std::vector{reduce, waits}));
  MessageFamily chosen = broadcast;
  chosen.algorithm = "library";
  EXPECT_FALSE(reduction_by_difference(std::vector{reduce, chosen}));
}

std::vector<Measurement> rows_of(const MessageFamily& family) {
  std::vector<Measurement> rows;
  for (const MessageSample& sample : family.samples) {
    rows.push_back(message_row(family.collective, sample.layout.ranks, sample.layout.ranks,
                               sample.bytes.si(), sample.time.value.si()));
    rows.back().axes["algorithm"] = family.algorithm;
  }
  return rows;
}

TEST(Calibrate, LeavesInBetaWhatIsNotKnownWell) {
  std::vector<Measurement> rows = rows_of(trees(collective::Collective::reduce, gamma_of_links));
  for (Measurement& row : rows_of(trees(collective::Collective::broadcast, gamma_of_links))) {
    rows.push_back(std::move(row));
  }
  // Every second reduce takes three times as long.
  int turn = 0;
  for (Measurement& row : rows) {
    if (row.axes["collective"] != "reduce" || ++turn % 2 == 0) continue;
    const double seconds = row.at("time").summary.median;
    row.series["time"] = make_series("s", {std::vector<double>(9, 3 * seconds)});
  }
  const std::vector<ResultFile> files{file("comm.jsonl", rows)};
  const Machine machine = calibrate(two_workers(), files);
  ASSERT_TRUE(machine.reduction);
  EXPECT_GT(machine.reduction->per_byte.high - machine.reduction->per_byte.low,
            machine.reduction->per_byte.value);
  for (const AlgorithmFit& fit : machine.algorithms) EXPECT_EQ(fit.gamma, SecondsPerByte());
}

TEST(Calibrate, TakesReductionFromMessagesBeforeMemory) {
  const Measurement sums = sized("memory",
                                 {{"operation", "add"},
                                  {"threads", "1"},
                                  {"ranks", "1"},
                                  {"ranks_on_node", "1"},
                                  {"dtype", "f32"}},
                                 1e8, 0.03);
  Measurement with_work = sums;
  with_work.work = Work{Flops(2.5e7), Bytes(3e8)};
  const std::vector<ResultFile> memory{file("memory.jsonl", {with_work})};
  const Machine by_memory = calibrate(two_workers(), memory);
  ASSERT_TRUE(by_memory.reduction);
  EXPECT_NEAR(by_memory.reduction->per_byte.value.si(), 0.3e-9, 1e-15);
  test::expect_contains(by_memory.reduction->from, "bench memory");

  std::vector<Measurement> rows = rows_of(trees(collective::Collective::reduce, gamma_of_links));
  for (Measurement& row : rows_of(trees(collective::Collective::broadcast, gamma_of_links))) {
    rows.push_back(std::move(row));
  }
  const std::vector<ResultFile> both{memory.front(), file("comm.jsonl", rows)};
  const Machine by_messages = calibrate(two_workers(), both);
  ASSERT_TRUE(by_messages.reduction);
  EXPECT_NEAR(by_messages.reduction->per_byte.value.si(), gamma_of_links, 1e-14);
  const Machine read = machine_from_json(machine_json(by_messages), "m.json");
  EXPECT_EQ(machine_json(read), machine_json(by_messages));
  for (const AlgorithmFit& fit : by_messages.algorithms) {
    EXPECT_EQ(fit.gamma, by_messages.reduction->per_byte.value);
    EXPECT_NEAR(fit.ranges.front().intra.value().beta.value.si(), 0.5e-9, 1e-13);
  }
}

/// The library adds by a loop of its own, of which the difference of our schedules says nothing.
TEST(Calibrate, TakesReductionOutOfOurOwnSchedulesAlone) {
  std::vector<Measurement> rows = rows_of(trees(collective::Collective::reduce, gamma_of_links));
  for (Measurement& row : rows_of(trees(collective::Collective::broadcast, gamma_of_links))) {
    rows.push_back(std::move(row));
  }
  MessageFamily by_library = trees(collective::Collective::reduce, gamma_of_links);
  by_library.algorithm = "library";
  for (Measurement& row : rows_of(by_library)) rows.push_back(std::move(row));
  const std::vector<ResultFile> files{file("comm.jsonl", rows)};
  const Machine machine = calibrate(two_workers(), files);
  ASSERT_TRUE(machine.reduction);
  int of_library = 0;
  for (const AlgorithmFit& fit : machine.algorithms) {
    const bool library = fit.asked == "library";
    of_library += library ? 1 : 0;
    EXPECT_EQ(fit.gamma, library ? SecondsPerByte() : machine.reduction->per_byte.value);
  }
  EXPECT_EQ(of_library, 1);
  EXPECT_EQ(machine.algorithms.size(), 3U);
}

}  // namespace
}  // namespace dlscale::model
