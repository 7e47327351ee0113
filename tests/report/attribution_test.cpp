#include "report/comparison/attribution.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <random>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "report/comparison/compare.hpp"
#include "report/comparison/comparison_table.hpp"
#include "samples.hpp"
#include "tests/report/look_at.hpp"

namespace dlscale::report {
namespace {

using samples::PhaseTimes;

constexpr int iterations = 60;

/// A training of two ranks whose phases vary by 3 % an iteration, and stragglers now and then.
Measurement phased_training(const PhaseTimes& times, int repeat, unsigned seed) {
  Measurement measurement = samples::e2e(
      {.network = "alexnet", .ranks = 2, .schedule = Schedule::wait_free, .repeat = repeat}, times);
  std::mt19937 generator(seed);
  std::normal_distribution<double> noise(0, 0.03);
  std::bernoulli_distribution straggles(0.05);
  std::map<std::string, std::vector<std::vector<double>>> all;
  for (int rank = 0; rank < 2; ++rank) {
    for (auto& [name, series] : measurement.series) {
      all[name].emplace_back();
    }
  }
  const std::vector<std::pair<std::string, double>> phases{{"t_io", times.io},
                                                           {"t_h2d", times.h2d},
                                                           {"t_f", times.forward},
                                                           {"t_b", times.backward},
                                                           {"t_comm_exposed", times.exposed},
                                                           {"t_u", times.update},
                                                           {"t_other", times.other}};
  for (int i = 0; i < iterations; ++i) {
    const double slow = straggles(generator) ? 5 : 1;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      double total = 0;
      for (const auto& [name, mean] : phases) {
        // The second rank waits longer, and is never the one that is waited for.
        const double waits = rank == 1 && name == "t_comm_exposed" ? 1.5 : 1;
        const double time = waits * mean * std::exp(noise(generator)) * (name == "t_io" ? 1 : slow);
        all[name][rank].push_back(time);
        total += time;
      }
      all["t_iter"][rank].push_back(total);
    }
  }
  for (const auto& [name, unused] : phases) {
    measurement.series[name] = make_series("s", all[name]);
  }
  measurement.series["t_iter"] = make_series("s", all["t_iter"]);
  return measurement;
}

std::vector<ResultFile> results(const PhaseTimes& times, unsigned seed, int launches = 5) {
  std::vector<Measurement> rows;
  for (int repeat = 0; repeat < launches; ++repeat) {
    rows.push_back(phased_training(times, repeat, seed + static_cast<unsigned>(repeat)));
  }
  return {samples::file("e2e", rows)};
}

const AttributedPart& part(const Attribution& attribution, std::string_view series) {
  for (const AttributedPart& one : attribution.parts) {
    if (one.series == series) return one;
  }
  throw std::logic_error("no such part");
}

double sum_of_shares(const Attribution& attribution) {
  double sum = 0;
  for (const AttributedPart& one : attribution.parts) sum += one.share;
  return sum;
}

TEST(Attribution, PartsAddUpToTheChangeToRounding) {
  PhaseTimes slower;
  slower.exposed *= 1.7;
  slower.forward *= 0.9;
  const auto all = attribute(results({}, 1), results(slower, 100));
  ASSERT_EQ(all.size(), 1U);
  EXPECT_NEAR(sum_of_shares(all[0]), all[0].change, 1e-12);
  EXPECT_NEAR(all[0].after / all[0].before - 1, all[0].change, 1e-12);
}

TEST(Attribution, FindsThePhaseThatChanged) {
  PhaseTimes slower;
  slower.exposed += 0.05;
  const auto all = attribute(results({}, 1), results(slower, 100));
  ASSERT_EQ(all.size(), 1U);
  const double expected = 0.05 / PhaseTimes{}.total();
  EXPECT_NEAR(all[0].change, expected, 0.01);
  EXPECT_NEAR(part(all[0], "t_comm_exposed").share, expected, 0.005);
  EXPECT_LT(part(all[0], "t_comm_exposed").share_low, expected);
  EXPECT_GT(part(all[0], "t_comm_exposed").share_high, expected);
  EXPECT_NEAR(part(all[0], "t_u").share, 0, 0.005);
  EXPECT_LT(part(all[0], "t_u").share_low, 0);
  EXPECT_GT(part(all[0], "t_u").share_high, 0);
}

TEST(Attribution, IntervalsHoldTheTruthMostOfTheTime) {
  PhaseTimes slower;
  slower.backward *= 1.05;
  const double expected = 0.05 * PhaseTimes{}.backward / PhaseTimes{}.total();
  int held = 0;
  constexpr int tries = 20;
  for (unsigned seed = 0; seed < tries; ++seed) {
    const auto all = attribute(results({}, 1000 * seed, 3), results(slower, 1000 * seed + 500, 3));
    const AttributedPart& backward = part(all.at(0), "t_b");
    held += backward.share_low <= expected && expected <= backward.share_high ? 1 : 0;
  }
  // Three launches a side: 95 % is what many would give.
  EXPECT_GE(held, 14);
}

TEST(Attribution, IsTurnedAroundWithItsSidesAndBlindToUnits) {
  PhaseTimes slower;
  slower.update *= 2;
  const Attribution there = attribute(results({}, 1), results(slower, 100)).at(0);
  const Attribution back = attribute(results(slower, 100), results({}, 1)).at(0);
  EXPECT_NEAR((1 + there.change) * (1 + back.change), 1, 1e-12);
  EXPECT_EQ(there.before, back.after);
}

TEST(Attribution, OfTheSameIsNothing) {
  const Attribution same = attribute(results({}, 1), results({}, 1)).at(0);
  EXPECT_EQ(same.change, 0);
  for (const AttributedPart& one : same.parts) EXPECT_EQ(one.share, 0);
}

TEST(Attribution, SaysItInASentence) {
  Attribution attribution;
  attribution.change = 0.041;
  attribution.parts = {{"t_f", "forward", 0, 0, 0.001, 0, 0},
                       {"t_comm_exposed", "exposed communication", 0, 0, 0.039, 0, 0},
                       {"t_other", "anything else", 0, 0, 0.001, 0, 0}};
  EXPECT_EQ(attribution_sentence(attribution),
            "iteration +4.1 %: +3.9 % exposed communication, +0.2 % other");
}

TEST(Attribution, LeavesOutTrainingsThatWereTimedAsAWhole) {
  auto whole = results({}, 1);
  for (Measurement& row : whole[0].measurements) row.series.erase("t_u");
  EXPECT_TRUE(attribute(whole, results({}, 1)).empty());
}

TEST(Attribution, StandsInAComparison) {
  PhaseTimes slower;
  slower.exposed += 0.05;
  const ComparisonReport report = compare(results({}, 1), results(slower, 100), 0.02);
  ASSERT_EQ(report.attributions.size(), 1U);
  const Document document = comparison_document(report);
  EXPECT_TRUE(contains(document.json(), "\"attributions\""));
  bool found = false;
  for (const Table& table : document.tables) {
    found = found || table.title.find("Where iterations changed") != std::string::npos;
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace dlscale::report
