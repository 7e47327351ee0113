#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <CLI/CLI.hpp>

#include <string>
#include <utility>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/cli/format_of_file.hpp"
#include "app/cli/number_sweep.hpp"
#include "app/gate/gate_session.hpp"
#include "app/options/hardware_options.hpp"
#include "core/base/error.hpp"
#include "core/text/quantity_text.hpp"
#include "tests/core/support.hpp"

namespace dlscale::app {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(OutputPlace, HasAFormatWhereOneStandsBeforeTheFirstEqualsSign) {
  const auto read = [](const std::string& text) {
    const OutputPlace place = parse_place("-o", text);
    return place.format + "|" + place.path;
  };
  EXPECT_EQ(read("junit=gate.xml"), "junit|gate.xml");
  EXPECT_EQ(read("json=-"), "json|-");
  EXPECT_EQ(read("csv=a=b.csv"), "csv|a=b.csv");
  EXPECT_EQ(read("gate.txt"), "|gate.txt");
  EXPECT_EQ(read("-"), "|-");
  EXPECT_EQ(read(""), "|-");
  for (const char* file : {"lr=0.1.txt", "=x", "./csv=x", "out/json=x", "CSV2024=x", "batch=8"}) {
    EXPECT_EQ(read(file), std::string("|") + file) << "a file of that name";
  }
}

TEST(OutputPlace, IsRefusedWhereASlipWouldMakeAFileOfAnotherFormat) {
  const auto refusal = [](const std::string& text) {
    return test::config_error([&] { (void)parse_place("-o", text); });
  };
  EXPECT_THAT(refusal("jnit=gate.xml"), HasSubstr("Write junit=gate.xml, or ./jnit=gate.xml"));
  EXPECT_THAT(refusal("JSON=a"), HasSubstr("json=a"));
  EXPECT_THAT(refusal("junit="), HasSubstr("names a format and no file"));
  EXPECT_THAT(refusal("foo="), HasSubstr("\"foo\" is not a format, and no file stands behind"));
}

TEST(OutputPlace, IsNamedOnce) {
  const test::TemporaryFolder folder;
  const std::string file = folder.write("a.txt", "").string();
  const auto refused = [](const std::vector<std::string>& texts) {
    std::vector<OutputPlace> places;
    for (const std::string& text : texts) places.push_back(parse_place("-o", text));
    return test::config_error([&] { refuse_shared_places("-o", places); });
  };
  EXPECT_THAT(refused({"-", "json=-"}), HasSubstr("-o names standard output twice"));
  EXPECT_THAT(refused({"csv=" + file, "json=" + file}), HasSubstr("a.txt twice"));
  EXPECT_THAT(refused({"csv=new/a", "json=new/../new/a"}), HasSubstr("twice"));
  refuse_shared_places("-o", std::vector<OutputPlace>{{"", "-"}, {"json", "a"}, {"csv", "b"}});
}

TEST(FormatOfAFile, IsThatOfItsExtension) {
  for (const auto& [path, format] :
       {std::pair("a.json", "json"), std::pair("out/B.CSV", "csv"), std::pair("a.md", "markdown"),
        std::pair("a.xml", "junit"), std::pair("a.prom", "openmetrics"),
        std::pair("a.txt", "table"), std::pair("gate.log", "table"), std::pair("answer", "table"),
        std::pair("lr=0.1", "table"), std::pair("of.2026-01-31", "table"),
        std::pair("/dev/null", "table"), std::pair("a.b/c", "table"),
        std::pair(".hidden", "table")}) {
    EXPECT_EQ(format_of_file("-o", path), format) << path;
  }
}

TEST(FormatOfAFile, IsRefusedWhereNoFormatHasItsExtension) {
  for (const char* path : {"a.pdf", "a.html", "a.PNG", "a.xlsx", "a.svg", "a.json.gz", "a.yaml",
                           "a.docx", "a.parquet", "a.jsonl"}) {
    const std::string error = test::config_error([&] { (void)format_of_file("-o", path); });
    EXPECT_THAT(error, HasSubstr(".txt, .csv, .json, .md, .xml or .prom")) << path;
  }
  EXPECT_THAT(test::config_error([] { (void)format_of_file("-o", "a.pdf"); }),
              HasSubstr("dlscale report"));
}

using Words = std::vector<std::string>;

TEST(OutputWords, AreFoundInEverySpelling) {
  for (const Words& output : {Words{"-o", "r.jsonl"}, Words{"-or.jsonl"}, Words{"-o=r.jsonl"},
                              Words{"--output", "r.jsonl"}, Words{"--output=r.jsonl"},
                              Words{"--out", "r.jsonl"}, Words{"--out=r.jsonl"}}) {
    Words words{"bench", "gemm"};
    words.insert(words.end(), output.begin(), output.end());
    words.insert(words.end(), {"--order-seed", "7"});
    EXPECT_TRUE(names_output(words)) << output.front();
    EXPECT_EQ(without_output(words), (Words{"bench", "gemm", "--order-seed", "7"}))
        << output.front();
  }
}

TEST(OutputWords, AreNoOtherOptions) {
  const Words words{"bench",          "gemm",        "--order-seed",     "7",
                    "--overlap=none", "--outermost", "--benchmark_out=x"};
  EXPECT_FALSE(names_output(words));
  EXPECT_EQ(without_output(words), words);
}

TEST(OutputWords, MayStandAtTheEndWithoutAFile) {
  EXPECT_EQ(without_output({"bench", "gemm", "--output"}), (Words{"bench", "gemm"}));
}

using Items = std::vector<std::string>;

std::vector<int> counts(const Items& items) {
  return swept_counts("--ranks", items);
}

std::string refusal_of(const Items& items) {
  try {
    static_cast<void>(counts(items));
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

void expect_refused(const Items& items, const std::string& part) {
  const std::string message = refusal_of(items);
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
  expect_refused({"0"}, "is not a number above 0");
  expect_refused({"-2"}, "is not a number above 0");
  expect_refused({"0..8"}, "is not a number above 0");
  expect_refused({"5..1"}, "5..1 ends before it begins. Write 1..5");
  expect_refused({"1.."}, "a number is missing");
  expect_refused({"..8"}, "a number is missing");
  expect_refused({".."}, "a number is missing");
  expect_refused({"1..8:"}, "has no step");
  expect_refused({"1..8:x"}, "a number is missing");
  expect_refused({"1..8:x1"}, "would never end");
  expect_refused({"1..8:x0"}, "is not a number above 0");
  expect_refused({"1..8:+0"}, "is not a number above 0");
  expect_refused({"1..8:x-2"}, "is not a number above 0");
  expect_refused({"1..8:*2"}, "has the step *2");
  expect_refused({"1..8:2"}, "has the step 2");
  expect_refused({"1..8:x2:x2"}, "not a finite number");
  expect_refused({"1..2..3"}, "not a finite number");
  expect_refused({"nan"}, "not a finite number");
  expect_refused({"1..inf"}, "not a finite number");
  expect_refused({"1.5"}, "1.5 is not a whole number up to 2147483647");
  expect_refused({"1..1e12:+1"}, "1e12 is not a whole number up to 2147483647");
  expect_refused({"1..1e999"}, "not a whole number up to");
  expect_refused({"2147483648"}, "not a whole number up to 2147483647");
  expect_refused({"1..2147483647"}, "more than 1000000 numbers");
  expect_refused({"1..1000000", "1000001"}, "more than 1000000 numbers");
  expect_refused({"two"}, "not a finite number");
  expect_refused({"8 9"}, "Write 8,9");
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
