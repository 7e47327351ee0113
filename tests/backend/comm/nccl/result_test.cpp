#include "backend/comm/nccl/result.hpp"

#include <set>

#include <gtest/gtest.h>

namespace dlscale::backend::gpu_comm {
namespace {

std::string text(int code, const std::string& detail = "") {
  return error_of({"ncclAllReduce", code, "its text", detail, 3}).what();
}

TEST(NcclErrors, NameCallCodeRankAndWords) {
  const LibraryError error = error_of({"ncclAllReduce", 6, "remote process exited", "peer 5", 3});
  EXPECT_EQ(error.code(), ExitCode::wrong_result);
  const std::string said = error.what();
  EXPECT_EQ(
      said.find("ncclAllReduce failed on rank 3 with code 6 (remote process exited: peer 5)."), 0U)
      << said;
}

TEST(NcclErrors, AdviseDifferentlyOnEachCode) {
  std::set<std::string> advice;
  for (int code = 1; code <= 6; ++code) {
    std::string said = text(code);
    said.erase(0, said.find(").") + 2);
    EXPECT_GT(said.size(), 80U) << said;
    advice.insert(said);
  }
  EXPECT_EQ(advice.size(), 6U);
}

TEST(NcclErrors, AreOneLineWhateverNcclSays) {
  const std::string said = text(2, "Call to connect failed :\n  Connection refused.\n");
  EXPECT_EQ(said.find('\n'), std::string::npos);
  EXPECT_NE(said.find("Call to connect failed : Connection refused)."), std::string::npos) << said;
}

TEST(NcclErrors, OfUnknownCodesStillNameThem) {
  EXPECT_EQ(text(42).find("ncclAllReduce failed on rank 3 with code 42 (its text). NCCL_DEBUG"), 0U)
      << text(42);
}

TEST(NcclErrors, ThatLookLikeADeathAreTheSystemsAndTheRemotes) {
  for (int code = 0; code <= 8; ++code) EXPECT_EQ(may_be_a_death(code), code == 2 || code == 6);
}

}  // namespace
}  // namespace dlscale::backend::gpu_comm
