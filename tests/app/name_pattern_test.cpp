
#include <gtest/gtest.h>

#include <string>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {
namespace {

bool finds(const std::string& pattern, const std::string& name) {
  return NamePattern("--name", pattern).is_in(name);
}

/// The sentence that refuses a pattern; empty if it is taken.
std::string refusal(const std::string& pattern) {
  try {
    const NamePattern taken("--name", pattern);
    return "";
  } catch (const ConfigError& error) {
    return error.what();
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
  EXPECT_EQ(refusal("a("),
            "--name: \"a(\" is not a regular expression (missing ): a(). Write a part of the names "
            "in the syntax of RE2, for example \"gemm-.*-2$\".");
  for (const char* pattern : {R"((a)\1)", "a(?=b)", "(x?){10000}", "((x{999}){999}){999}"}) {
    EXPECT_NE(refusal(pattern).find("is not a regular expression"), std::string::npos) << pattern;
  }
}

}  // namespace
}  // namespace dlscale::app
