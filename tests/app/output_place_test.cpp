
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "app/cli/document_output.hpp"
#include "app/suite/definition/suite.hpp"
#include "core/base/error.hpp"
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

TEST(OutputPlace, OfAStepIsWhatItWrites) {
  const auto outputs = [](std::vector<std::string> words) {
    SuiteStep step;
    step.words = std::move(words);
    std::vector<std::string> paths;
    for (const auto& path : outputs_of(step)) paths.push_back(path.string());
    return paths;
  };
  EXPECT_THAT(outputs({"validate", "a", "-o", "json=a.json", "-o", "b.txt", "-o", "csv=-"}),
              ElementsAre("a.json", "b.txt"));
  EXPECT_THAT(outputs({"bench", "gemm", "-o", "json=a"}), ElementsAre("json=a"))
      << "benchmarks write one format";
  EXPECT_THAT(outputs({"report", "a", "-o", "page", "--write", "comment=a.md"}),
              ElementsAre("page", "a.md"));
}

}  // namespace
}  // namespace dlscale::app
