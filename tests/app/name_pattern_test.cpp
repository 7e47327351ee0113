#include "app/name_pattern.hpp"

#include <gtest/gtest.h>

#include <string>

#include "core/error.hpp"

namespace dlscale::app {
namespace {

bool finds(const std::string& pattern, const std::string& name) {
  return NamePattern("--name", pattern).is_in(name);
}

TEST(NamePattern, IsFoundAnywhereInAName) {
  EXPECT_TRUE(finds("gemm-.*-2$", "suite gemm-64-2"));
  EXPECT_FALSE(finds("gemm-.*-2$", "suite gemm-64-21"));
  EXPECT_FALSE(finds("^gemm", "suite gemm-64-2"));
}

TEST(NamePattern, IsLookedForInLongNames) {
  const std::string name(3999, 'a');
  EXPECT_TRUE(finds("(b|.)*x", name + "x"));
  EXPECT_FALSE(finds("b|x", name + "a"));
  EXPECT_THROW(finds("a", name + "aa"), ConfigError);
}

TEST(NamePattern, ThatFitsInManyWaysIsSoonLookedFor) {
  EXPECT_FALSE(finds("(a+)+b", std::string(100, 'a')));
}

TEST(NamePattern, RefersToNothingBefore) {
  EXPECT_THROW(finds(R"((a)\1)", "aa"), ConfigError);
}

}  // namespace
}  // namespace dlscale::app
