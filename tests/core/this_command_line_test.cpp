#include "core/system/this_command_line.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace dlscale {
namespace {

TEST(OwnProgram, IsTheFileThatRuns) {
  EXPECT_EQ(this_program().filename(), "core_this_command_line_test");
  EXPECT_TRUE(std::filesystem::exists(this_program()));
}

TEST(OwnCommand, IsAsTyped) {
  const std::vector<std::string> typed = this_command_line();
  ASSERT_FALSE(typed.empty());
  EXPECT_NE(typed.front().find("core_this_command_line_test"), std::string::npos);
}

}  // namespace
}  // namespace dlscale
