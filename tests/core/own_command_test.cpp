#include "core/own_command.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace dlscale {
namespace {

using Words = std::vector<std::string>;

TEST(OwnProgram, IsTheFileThatRuns) {
  EXPECT_EQ(own_program().filename(), "core_own_command_test");
  EXPECT_TRUE(std::filesystem::exists(own_program()));
}

/// One test, as the command line of a process is set once.
TEST(OwnCommand, IsAsTypedUntilItIsSetOnce) {
  const Words typed = own_command();
  ASSERT_FALSE(typed.empty());
  EXPECT_NE(typed.front().find("core_own_command_test"), std::string::npos);

  EXPECT_THROW(set_own_command({}), std::exception);
  EXPECT_EQ(own_command(), typed);
  set_own_command({"dlscale", "info"});
  EXPECT_THROW(set_own_command({"dlscale", "help"}), std::exception);
  EXPECT_EQ(own_command(), (Words{"dlscale", "info"}));
}

}  // namespace
}  // namespace dlscale
