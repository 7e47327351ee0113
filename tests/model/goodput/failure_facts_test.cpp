#include "model/goodput/failure_facts.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "core/base/error.hpp"
#include "core/config/config_path.hpp"

namespace dlscale::model::goodput {
namespace {

std::string shipped_text() {
  std::ifstream file(find_config("models", "failures"));
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The facts of the shipped file with `old` replaced, which it must have.
FailureFacts changed_facts(const std::string& old, const std::string& by) {
  std::string text = shipped_text();
  const std::size_t at = text.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  text.replace(at, old.size(), by);
  const auto path = std::filesystem::path(testing::TempDir()) / "failures_test.yaml";
  std::ofstream(path) << text;
  return load_failure_facts(path);
}

TEST(FailureFacts, AreThoseOfThePublishedRun) {
  const FailureFacts& facts = failure_facts();
  const double gpu_hours = 16384.0 * 54 * 24;
  EXPECT_DOUBLE_EQ(facts.rate_h[0], 268 / gpu_hours);
  EXPECT_DOUBLE_EQ(facts.rate_h[1], 46 * 8 / gpu_hours);
  EXPECT_DOUBLE_EQ(facts.rate_h[2], 49 / gpu_hours);
  EXPECT_DOUBLE_EQ(facts.rate_h[3], 56 / gpu_hours);
  EXPECT_EQ(facts.mtbf_scale.value, 1);
  EXPECT_NEAR(facts.mtbf_scale.low, 0.243, 1e-3);  // of five totals, by hand
  EXPECT_NEAR(facts.mtbf_scale.high, 2.222, 1e-3);
}

TEST(FailureFacts, FollowTheFile) {
  EXPECT_DOUBLE_EQ(changed_facts("gpu: 268", "gpu: 134").rate_h[0], failure_facts().rate_h[0] / 2);
  EXPECT_EQ(changed_facts("value: 600", "value: 300").restart_s.value, 300);
}

TEST(FailureFacts, AreRefusedWhereTheyCannotBe) {
  EXPECT_THROW(changed_facts("gpu: 268", "gpu: 0"), ConfigError);
  EXPECT_THROW(changed_facts("value: 600", "value: 100"), ConfigError);  // below its interval
  EXPECT_THROW(changed_facts("dlscale.failures", "dlscale.scaling"), ConfigError);
  EXPECT_THROW(changed_facts("software: 56", "softwares: 56"), ConfigError);
}

}  // namespace
}  // namespace dlscale::model::goodput
