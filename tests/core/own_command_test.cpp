#include "core/system/own_command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

namespace dlscale {
namespace {

TEST(OwnProgram, IsTheFileThatRuns) {
  EXPECT_EQ(own_program().filename(), "core_own_command_test");
  EXPECT_TRUE(std::filesystem::exists(own_program()));
}

TEST(OwnCommand, IsAsTyped) {
  const std::vector<std::string> typed = own_command();
  ASSERT_FALSE(typed.empty());
  EXPECT_NE(typed.front().find("core_own_command_test"), std::string::npos);
}

}  // namespace
}  // namespace dlscale
