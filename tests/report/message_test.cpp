#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/messages/message_table.hpp"
#include "tests/model/synthetic_messages.hpp"
#include "tests/report/look_at.hpp"
#include "tests/report/records_declared.hpp"
#include "tests/report/series_of.hpp"

namespace dlscale::report {
namespace {

using namespace model::synthetic;

/// A ring, exact but for the last number of ranks, which is `slower` times as slow.
model::MessageJudgement judgement(double slower) {
  model::MessageFamily family =
      all_reduces({{2, 2}, {3, 3}, {4, 4}}, powers(64, 1 << 24),
                  [&](const model::Placement& layout, double bytes) {
                    return ring_seconds(layout.ranks, bytes) * (layout.ranks == 4 ? slower : 1);
                  });
  family.algorithm = "ring";
  return model::judge_messages(std::vector{family});
}

TEST(MessageDocument, PassesOnlyWithinItsLimits) {
  EXPECT_EQ(exit_code(judgement(1), {}), ExitCode::ok);
  EXPECT_EQ(exit_code(judgement(1.5), {}), ExitCode::regression);
  EXPECT_EQ(exit_code(judgement(1.5), {0.4, 0.4}), ExitCode::ok);
}

TEST(MessageDocument, IsInconclusiveWhereNotAllWasJudged) {
  model::MessageJudgement some = judgement(1);
  some.families.front().not_judged = 1;
  EXPECT_EQ(exit_code(some, {}), ExitCode::inconclusive);
  model::MessageJudgement less = judgement(1);
  less.left_out = {"broadcast: no sizes"};
  EXPECT_EQ(exit_code(less, {}), ExitCode::inconclusive);
}

TEST(MessageDocument, NamesNumbersAlikeInEveryRun) {
  const Document document = message_document(judgement(1.25), {});
  expect_declared(document);
  expect_same_series(document, message_document(judgement(1.1), {}));
}

TEST(MessageDocument, WarnsWhereRanksAreNotForeseen) {
  // Of 3 ranks, to which it was fitted, half as much more than the formula says of 2.
  model::MessageFamily family =
      all_reduces({{2, 2}, {3, 3}, {4, 4}}, powers(64, 1 << 24),
                  [](const model::Placement& layout, double bytes) {
                    return ring_seconds(layout.ranks, bytes) * (layout.ranks == 3 ? 1.5 : 1);
                  });
  family.algorithm = "ring";
  const auto has_warning = [](const model::MessageJudgement& judged) {
    const Document document = message_document(judged, {});
    const std::string& note = document.tables.at(1).notes.back();
    return note.find("more ranks are a guess for all_reduce by ring") != std::string::npos;
  };
  const model::MessageJudgement poor = model::judge_messages(std::vector{family});
  EXPECT_TRUE(has_warning(poor));
  EXPECT_FALSE(has_warning(judgement(1)));
  const auto json = nlohmann::json::parse(message_document(poor, {}).json());
  const auto& foresight = json.at("families").at(0).at("fit").at("foresight");
  EXPECT_EQ(foresight.at("ranks"), 3);
  EXPECT_NEAR(foresight.at("median_abs").get<double>(), 1.0 / 3, 0.01);
}

/// Rings between hosts of which 2 exchange and 3 do not: 2 take `times` as long.
std::string notes_of_rings(double times) {
  model::MessageFamily family = all_reduces(
      {{2, 1}, {3, 1}}, powers(64, 1 << 24), [&](const model::Placement& layout, double bytes) {
        return ring_seconds(layout.ranks, bytes) * (layout.ranks == 2 ? times : 1);
      });
  family.algorithm = "ring";
  family.cores = 4;
  const Document document = message_document(model::judge_messages(std::vector{family}, 3), {});
  std::string all;
  for (const std::string& note : document.tables.at(1).notes) all += note + "\n";
  return all;
}

TEST(MessageDocument, SaysWhetherWhatTravelsBothWaysCostsMore) {
  const std::string half_duplex = notes_of_rings(2);
  EXPECT_TRUE(contains(half_duplex, "a byte between nodes costs χ more")) << half_duplex;
  EXPECT_TRUE(contains(half_duplex, "all nodes share 4 cores")) << half_duplex;
  EXPECT_TRUE(contains(notes_of_rings(1), "nothing tells decisively"));
}

}  // namespace
}  // namespace dlscale::report
