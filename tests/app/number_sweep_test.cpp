#include "app/cli/number_sweep.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/options/inter_node_options.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::app {
namespace {

using Items = std::vector<std::string>;

std::vector<int> counts(const Items& items) {
  return swept_counts("--ranks", items);
}

std::string refusal(const Items& items) {
  try {
    static_cast<void>(counts(items));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

void expect_refused(const Items& items, const std::string& part) {
  const std::string message = refusal(items);
  EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_TRUE(message.starts_with("--ranks")) << message;
  EXPECT_TRUE(message.ends_with(".")) << message;
}

TEST(NumberSweep, StandsForItsNumbers) {
  EXPECT_EQ(counts({"8"}), std::vector<int>({8}));
  EXPECT_EQ(counts({"1", "2", "4"}), std::vector<int>({1, 2, 4}));
  EXPECT_EQ(counts({"3..6"}), std::vector<int>({3, 4, 5, 6}));
  EXPECT_EQ(counts({"5..5"}), std::vector<int>({5}));
  EXPECT_EQ(counts({"1..1024:x2"}).size(), 11U);
  EXPECT_EQ(counts({"1..1024:x2"}).back(), 1024);
  EXPECT_EQ(counts({"3..100:x3"}), std::vector<int>({3, 9, 27, 81}));
  EXPECT_EQ(counts({"1..20:+8"}), std::vector<int>({1, 9, 17}));
  EXPECT_EQ(counts({" 2 .. 8 : x2 ", " 3 "}), std::vector<int>({2, 4, 8, 3}));
  EXPECT_EQ(counts({"2147483646..2147483647"}).size(), 2U);
  EXPECT_EQ(counts({"1..2147483647:x2147483647"}), std::vector<int>({1, 2147483647}));
  EXPECT_EQ(counts({"1..1000000"}).size(), most_swept);
}

TEST(NumberSweep, RefusesWhatIsNone) {
  expect_refused({""}, "a number is missing");
  expect_refused({" "}, "a number is missing");
  expect_refused({"0"}, "is no number above 0");
  expect_refused({"-2"}, "is no number above 0");
  expect_refused({"0..8"}, "is no number above 0");
  expect_refused({"5..1"}, "5..1 ends before it begins. Write 1..5");
  expect_refused({"1.."}, "a number is missing");
  expect_refused({"..8"}, "a number is missing");
  expect_refused({".."}, "a number is missing");
  expect_refused({"1..8:"}, "has no step");
  expect_refused({"1..8:x"}, "a number is missing");
  expect_refused({"1..8:x1"}, "would never end");
  expect_refused({"1..8:x0"}, "is no number above 0");
  expect_refused({"1..8:+0"}, "is no number above 0");
  expect_refused({"1..8:x-2"}, "is no number above 0");
  expect_refused({"1..8:*2"}, "has the step *2");
  expect_refused({"1..8:2"}, "has the step 2");
  expect_refused({"1..8:x2:x2"}, "no finite number");
  expect_refused({"1..2..3"}, "no finite number");
  expect_refused({"nan"}, "no finite number");
  expect_refused({"1..inf"}, "no finite number");
  expect_refused({"1.5"}, "1.5 is no whole number up to 2147483647");
  expect_refused({"1..1e12:+1"}, "1e12 is no whole number up to 2147483647");
  expect_refused({"1..1e999"}, "no whole number up to");
  expect_refused({"2147483648"}, "no whole number up to 2147483647");
  expect_refused({"1..2147483647"}, "more than 1000000 numbers");
  expect_refused({"1..1000000", "1000001"}, "more than 1000000 numbers");
  expect_refused({"two"}, "no finite number");
  expect_refused({"8 9"}, "no finite number");
  expect_refused({"1..4", "8..2"}, "ends before it begins");
  expect_refused({"1..8", "4"}, "names 4 twice");
}

TEST(NumberSweep, IsCheckedItemByItem) {
  const CLI::Validator check = count_sweep();
  std::string good = "1..8:x2";
  std::string bad = "8..1";
  EXPECT_EQ(check(good), "");
  EXPECT_EQ(check(bad), "8..1 ends before it begins. Write 1..8");
}

TEST(QuantitySweep, KeepsValuesAndTakesFactors) {
  const auto rates = [](const Items& items) {
    std::vector<double> values;
    for (const std::string& text : swept_quantities<BytesPerSecond>("--bandwidth", items)) {
      values.push_back(parse_quantity<BytesPerSecond>(text, "--bandwidth").si());
    }
    return values;
  };
  EXPECT_EQ(rates({"10Gb/s", "25 Gb/s"}), std::vector<double>({1.25e9, 3.125e9}));
  EXPECT_EQ(rates({"1Gb/s..8Gb/s:x2"}), std::vector<double>({1.25e8, 2.5e8, 5e8, 1e9}));
  EXPECT_EQ(rates({"1Gb/s..9Gb/s"}), std::vector<double>({1.25e8, 2.5e8, 5e8, 1e9}));
  for (const char* bad : {"", "..2Gb/s", "1Gb/s..0.5Gb/s", "0Gb/s..1Gb/s", "1Gb/s..2Gb/s:+1",
                          "1..2:x2", "..", "1Gb/s..", "1Gb/s..2Gb/s:x1", "1Gb/s..infGb/s"}) {
    EXPECT_THROW(swept_quantities<BytesPerSecond>("--bandwidth", Items{bad}), ConfigError) << bad;
  }
}

TEST(InterNodeLinks, AreEachBandwidthWithEachLatency) {
  const InterNodeOptions none{};
  ASSERT_EQ(none.each().size(), 1U);
  EXPECT_FALSE(none.each().front().given());
  const InterNodeOptions many{"10Gb/s,100Gb/s", "5us,50us"};
  const auto each = many.each();
  ASSERT_EQ(each.size(), 4U);
  EXPECT_EQ(each[1].bandwidth, "10Gb/s");
  EXPECT_EQ(each[1].latency, "50us");
  Cluster cluster;
  each[2].apply(cluster);
  EXPECT_DOUBLE_EQ(cluster.inter_node.bandwidth.si(), 12.5e9);
  EXPECT_DOUBLE_EQ(cluster.inter_node.latency.si(), 5e-6);
  const InterNodeOptions hole{"10Gb/s,,25Gb/s", ""};
  EXPECT_THROW(static_cast<void>(hole.each()), ConfigError);
}

}  // namespace
}  // namespace dlscale::app
