#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "app/cli/option_values.hpp"
#include "app/measure/result_files.hpp"
#include "core/base/error.hpp"
#include "core/text/name_pattern.hpp"

namespace dlscale::app {
namespace {

bool finds(const std::string& pattern, const std::string& name) {
  return NamePattern("--name", pattern).is_in(name);
}

/// The sentence that refuses a pattern; empty if it is taken.
std::string pattern_refusal(const std::string& pattern) {
  try {
    const NamePattern taken("--name", pattern);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
  }
}

TEST(Margins, FromOneOnAreRefusedWithTheFractionToWrite) {
  const CLI::Validator check = margin_fraction();
  for (std::string margin : {"0", "0.02", "5e-3", "0.999"}) EXPECT_EQ(check(margin), "") << margin;
  for (auto [margin, advice] : std::vector<std::pair<std::string, std::string>>{
           {"1", "1 would be 100 %, and this option takes a fraction. Write 0.01 for 1 %"},
           {"2", "Write 0.02 for 2 %"},
           {"5", "Write 0.05 for 5 %"},
           {"2.5", "Write 0.025 for 2.5 %"},
           {"10", "Write 0.1 for 10 %"},
           {"5%", "Write 0.05"},
           {"-1", "is not a fraction"},
           {"nan", "is not a fraction"}}) {
    EXPECT_NE(check(margin).find(advice), std::string::npos) << check(margin);
  }
}

TEST(NamePattern, IsFoundAnywhereInAName) {
  EXPECT_TRUE(finds("gemm-.*-2$", "suite gemm-64-2"));
  EXPECT_FALSE(finds("gemm-.*-2$", "suite gemm-64-21"));
  EXPECT_FALSE(finds("^gemm", "suite gemm-64-2"));
}

TEST(NamePattern, IsFoundInLongNames) {
  const std::string name(100'000, 'a');
  EXPECT_TRUE(finds("(b|.)*x", name + "x"));
  EXPECT_FALSE(finds("b|x", name));
}

TEST(NamePattern, MayFitInManyWays) {
  EXPECT_FALSE(finds("(a+)+b", std::string(100'000, 'a')));
  EXPECT_FALSE(finds("(a|a)*(a|a)*(a|a)*b", std::string(100'000, 'a')));
}

TEST(NamePattern, MayBeNestedDeeply) {
  const std::string deep = std::string(900, '(') + "a" + std::string(900, ')');
  EXPECT_TRUE(finds(deep, "bab"));
}

TEST(NamePattern, IsRefusedWithTheReasonOfTheLibrary) {
  EXPECT_EQ(pattern_refusal("a("),
            "--name: \"a(\" is not a regular expression (missing ): a(). Write a part of the names "
            "in the syntax of RE2, for example \"gemm-.*-2$\".");
  for (const char* pattern : {R"((a)\1)", "a(?=b)", "(x?){10000}", "((x{999}){999}){999}"}) {
    EXPECT_NE(pattern_refusal(pattern).find("is not a regular expression"), std::string::npos) << pattern;
  }
}

using Libraries = std::map<std::string, std::string>;

ResultFile result_of(const std::string& backend, const Libraries& libraries,
                     const std::string& affinity = "0-15") {
  ResultFile file;
  file.header.environment.libraries = libraries;
  file.header.environment.cores = 112;
  file.header.environment.affinity = affinity;
  Measurement measurement;
  measurement.axes["backend"] = backend;
  file.measurements = {measurement};
  return file;
}

TEST(MeasuredGpus, AreThoseOfTheDataSheetThatTheDriverNames) {
  const std::vector files{result_of("cuda", {{"GPU", "NVIDIA H100 80GB HBM3"}})};
  const std::optional<Cluster> cluster = measured_gpus(files, "cuda", 1);
  ASSERT_TRUE(cluster.has_value());
  EXPECT_EQ(cluster->device.kind, DeviceKind::gpu);
  EXPECT_EQ(cluster->device.name, "NVIDIA H100 SXM5 80 GB");
  EXPECT_EQ(cluster->device.memory, Bytes(80e9));
  EXPECT_TRUE(cluster->device.peak.contains(DType::bf16));
  EXPECT_EQ(cluster->workers(), 1);
  EXPECT_EQ(cluster->host.cores, 16);
}

TEST(MeasuredGpus, OfNoDataSheetHaveTheMemoryThatTheResultsTellAndNoPeaks) {
  const std::vector files{
      result_of("cuda", {{"GPU", "NVIDIA Z900"}, {"GPU memory", "48.5 GB"}}, "0-3,8"),
      result_of("cuda", {{"GPU", "NVIDIA Z900"}}, "2")};
  const std::optional<Cluster> cluster = measured_gpus(files, "", 2);
  ASSERT_TRUE(cluster.has_value());
  EXPECT_EQ(cluster->device.kind, DeviceKind::gpu);
  EXPECT_EQ(cluster->device.name, "NVIDIA Z900");
  EXPECT_DOUBLE_EQ(cluster->device.memory.si(), 48.5e9);
  EXPECT_TRUE(cluster->device.peak.empty());
  EXPECT_EQ(cluster->workers(), 2);
  EXPECT_EQ(cluster->host.cores, 5);
}

TEST(MeasuredGpus, AreNotThereWhereAProcessorComputed) {
  const std::vector files{result_of("onednn", {{"oneDNN", "3.1"}}),
                          result_of("cuda", {{"GPU", "NVIDIA H200"}}, "unknown")};
  EXPECT_FALSE(measured_gpus(files, "onednn", 1).has_value());
  EXPECT_FALSE(measured_gpus(std::span(files).first(1), "", 1).has_value());
  EXPECT_EQ(measured_gpus(files, "cuda", 1)->host.cores, 112);
}

TEST(MeasuredGpus, AreToldFromProcessorsThatComputedForTheSameFile) {
  ResultFile file = result_of("onednn", {{"GPU", "NVIDIA H200"}, {"oneDNN", "3.1"}});
  Measurement given;
  given.axes["backend"] = "cuda";
  given.series["give"] = {};
  file.measurements.push_back(given);
  const std::vector files{file};
  EXPECT_FALSE(measured_gpus(files, "onednn", 1).has_value());
  EXPECT_TRUE(measured_gpus(files, "cuda", 1).has_value());
}

TEST(MeasuredGpus, TakeNothingFromAnAffinityThatIsNoList) {
  for (const char* affinity : {"", "-1", "3-1", "0-99999999999", "1,", "0-3 8", "a"}) {
    const std::vector files{result_of("cuda", {{"GPU", "NVIDIA H200"}}, affinity)};
    EXPECT_EQ(measured_gpus(files, "cuda", 1)->host.cores, 112) << affinity;
  }
}

}  // namespace
}  // namespace dlscale::app
