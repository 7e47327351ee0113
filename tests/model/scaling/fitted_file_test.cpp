#include "model/published/scaling/fit/fitted_file.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/core/support.hpp"

namespace dlscale::model::scaling {
namespace {

using dlscale::test::config_error;
using dlscale::test::error_after;
using dlscale::test::expect_contains;
using dlscale::test::load_text;

Fit some_fit(double first) {
  Fit fit;
  double value = first;
  for (double& each : fit.parameters.values) {
    each = value;
    value *= 1.0 / 3.0 + 0.5;
  }
  const ErrorParts early = {1.0 / 30, 0.0437, 0.04, 0.0091, 0.05, 0.04,
                            0.03,     0.02,   0.01, 0.07,   0.06};
  const ErrorParts late = {1.0 / 7, 0.437, 0.4, 0.091, 0.5, 0.4, 0.3, 0.2, 0.1, 0.7, 0.6};
  fit.errors = {0.018, early, late, -1.68, 3.34};
  fit.domain = {4320, 64, 1.0 / 38, 1, {}, {"Horovod", "PyTorch, \"DDP\""}};
  fit.domain.hardware.front() = {15.75e9, 63e9};
  fit.domain.hardware[static_cast<std::size_t>(Hardware::year)] = {2014, 2022};
  return fit;
}

ScalingFile some_file() {
  ScalingFile file;
  file.cases = "open \"cases\": #1.jsonl";
  file.build = "0123abc with changes";
  file.sets = {{"a", 12}, {"b: {x}\t\\", 7}};
  file.fitted.all = some_fit(0.5);
  file.fitted.without = {{"a", some_fit(0.25)}, {"b: {x}\t\\", some_fit(1.0 / 7)}};
  return file;
}

std::string first_parameter() {
  return std::string(parameter_kinds()[0].name);
}

/// How the reader refuses the example with `from` replaced.
std::string refused(std::string_view from, std::string_view to) {
  return error_after(scaling_text(some_file()), from, to, load_scaling);
}

TEST(ScalingFile, ReadsBackAsItWas) {
  EXPECT_EQ(load_text(scaling_text(some_file()), load_scaling), some_file());
}

TEST(ScalingFile, ReadsBackAFitWithoutSets) {
  ScalingFile file = some_file();
  file.sets.clear();
  file.fitted.without.clear();
  EXPECT_EQ(load_text(scaling_text(file), load_scaling), file);
}

TEST(ScalingFile, TellsPeopleUnitPriorAndRangeOfAParameter) {
  const std::string text = scaling_text(some_file());
  expect_contains(text, first_parameter() + ": 0.5  # ");
  expect_contains(text, "0.1429 to 0.25 without one set");
}

TEST(ScalingFile, IsKnownByItsFirstLine) {
  std::istringstream own(scaling_text(some_file()));
  EXPECT_TRUE(opens_as_scaling(own));
  std::istringstream other("{\"schema\": \"dlscale.machine\"}\n");
  EXPECT_FALSE(opens_as_scaling(other));
  std::istringstream empty("");
  EXPECT_FALSE(opens_as_scaling(empty));
}

TEST(ScalingFile, AnotherKindOrVersionIsRefused) {
  expect_contains(refused("schema: dlscale.scaling", "schema: dlscale.machine"),
                  "is a machine description");
  expect_contains(refused("version: 4", "version: 3"), "reads 4");
}

TEST(ScalingFile, NamesFileAndKeyOfWhatIsWrong) {
  const std::string name = first_parameter();
  const std::string problem = refused(name + ": 0.5", name + "x: 0.5");
  expect_contains(problem, "small.yaml: /all/parameters/" + name + "x is not a known key");
  expect_contains(problem, "\"" + name + "\"");
  expect_contains(refused("    " + name + ": 0.5", "    "), "/all/parameters");
  expect_contains(refused("build: \"0123abc with changes\"\n", ""), "build is missing");
  expect_contains(refused("all:\n", "all:\n  more: 1\n"), "/all/more is not a known key");
  expect_contains(refused("sets:\n", "sets:\n  - 3\n"), "/sets/0 is a single value");
}

TEST(ScalingFile, NumbersMustBeInTheirRange) {
  const std::string name = first_parameter();
  for (const char* wrong : {"0", "-0.5", "nan", ".nan", "inf", "1e999", "1e300", "half", "[1]"}) {
    expect_contains(refused(name + ": 0.5", name + ": " + wrong),
                    "/all/parameters/" + name + " is ");
  }
  expect_contains(refused("high: 3.34", "high: -3.34"), "/all/errors/high");
  expect_contains(refused("low: -1.68", "low: 0"), "/all/errors/low");
  expect_contains(refused("late: {base: ", "late: {base: -"), "/all/errors/late/base");
  expect_contains(refused("early: {base: ", "early: {basis: "), "/all/errors/early/basis");
  expect_contains(refused("most_batch: 1", "most_batch: 0.5"), "/all/domain/most_batch");
  expect_contains(refused("{gpus: 4320", "{gpus: 0"), "/all/domain/gpus");
  expect_contains(refused("pcie: {least: 15750000000, most: 63000000000}",
                          "pcie: {least: 15750000000, most: 1000000000}"),
                  "/all/domain/pcie/most");
  expect_contains(refused("pcie: {least: 15750000000, most: 63000000000}", "pcie: 3"),
                  "/all/domain/pcie");
  expect_contains(refused("year: {", "years: {"), "/all/domain/years is not a known key");
  expect_contains(refused("trainings: 12", "trainings: 0"), "trainings");
}

TEST(ScalingFile, SetsAreThereOnceAndKnown) {
  expect_contains(refused("  - {set: \"a\", trainings: 12}",
                          "  - {set: \"a\", trainings: 12}\n  - {set: \"a\", trainings: 12}"),
                  "there twice");
  expect_contains(refused("  - set: \"a\"", "  - set: \"c\""), "none of the sets");
}

TEST(ScalingFile, TheProgramBringsOneWithAFitWithoutEachSet) {
  const ScalingFile file = load_scaling(usual_scaling);
  EXPECT_GE(file.sets.size(), 3U);
  EXPECT_EQ(file.fitted.without.size(), file.sets.size());
  for (const auto& [set, trainings] : file.sets) {
    EXPECT_NE(file.fitted.of(set), file.fitted.all) << set;
  }
}

TEST(ScalingFile, ANameThatIsNoModelIsRefused) {
  expect_contains(config_error([] { (void)load_scaling("no_such_model"); }), "no_such_model");
}

}  // namespace
}  // namespace dlscale::model::scaling
