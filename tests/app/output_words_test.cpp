#include "app/gate/gate_session.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace dlscale::app {
namespace {

using Words = std::vector<std::string>;

TEST(OutputWords, AreFoundInEverySpelling) {
  for (const Words& output : {Words{"-o", "r.jsonl"}, Words{"-or.jsonl"}, Words{"-o=r.jsonl"},
                              Words{"--output", "r.jsonl"}, Words{"--output=r.jsonl"},
                              Words{"--out", "r.jsonl"}, Words{"--out=r.jsonl"}}) {
    Words words{"bench", "gemm"};
    words.insert(words.end(), output.begin(), output.end());
    words.insert(words.end(), {"--order-seed", "7"});
    EXPECT_TRUE(names_output(words)) << output.front();
    EXPECT_EQ(without_output(words), (Words{"bench", "gemm", "--order-seed", "7"}))
        << output.front();
  }
}

TEST(OutputWords, AreNoOtherOptions) {
  const Words words{"bench",          "gemm",        "--order-seed",     "7",
                    "--overlap=none", "--outermost", "--benchmark_out=x"};
  EXPECT_FALSE(names_output(words));
  EXPECT_EQ(without_output(words), words);
}

TEST(OutputWords, MayStandAtTheEndWithoutAFile) {
  EXPECT_EQ(without_output({"bench", "gemm", "--output"}), (Words{"bench", "gemm"}));
}

}  // namespace
}  // namespace dlscale::app
