#include "model/roofline/kernels/workspace.hpp"

#include <gtest/gtest.h>

#include <string>

namespace dlscale::model {
namespace {

std::string workspace_key(int c, int hw, int k) {
  return "convolution c" + std::to_string(c) + " h" + std::to_string(hw) + " w" +
         std::to_string(hw) + " k" + std::to_string(k) + " r3 s3 stride1 pad1 groups1";
}

KernelCase by_library(const std::string& kernel, int batch) {
  return make_case({.backend = "onednn", .method = lowering::Method::direct}, kernel, batch, 16);
}

Bytes tensors(const std::string& kernel, int batch) {
  return least_bytes(by_library(kernel, batch).shape);
}

TEST(Workspace, OfOurCodeIsWhatItDeclares) {
  const KernelCase what = make_case({.backend = "native", .method = lowering::Method::winograd_f4},
                                    workspace_key(64, 28, 64), 4, 16);
  const Workspace found = workspace_of(what, {{{what.kernel, 4}, Bytes(1)}});
  EXPECT_EQ(found.basis, WorkspaceBasis::declared);
  EXPECT_EQ(found.size, what.work.workspace);
}

TEST(Workspace, OfOthersIsWhatWasMeasured) {
  const std::string kernel = workspace_key(64, 28, 64);
  const Workspace found = workspace_of(by_library(kernel, 4), {{{kernel, 4}, Bytes(4096)}});
  EXPECT_EQ(found.basis, WorkspaceBasis::measured);
  EXPECT_EQ(found.size, Bytes(4096));
  EXPECT_TRUE(found.within(Bytes(4096)));
  EXPECT_FALSE(found.within(Bytes(4095)));
}

TEST(Workspace, OfAShapeThatWasNotMeasuredHasTheLargestShareOfItsTensors) {
  const std::string few = workspace_key(64, 28, 64);
  const std::string many = workspace_key(256, 14, 256);
  const MeasuredWorkspaces measured{{{few, 4}, 0.5 * tensors(few, 4)},
                                    {{many, 4}, 2 * tensors(many, 4)}};
  const std::string other = workspace_key(128, 28, 128);
  for (const int batch : {1, 4, 8}) {
    const Workspace found = workspace_of(by_library(other, batch), measured);
    EXPECT_EQ(found.basis, WorkspaceBasis::bounded);
    EXPECT_DOUBLE_EQ(found.size.si(), 2 * tensors(other, batch).si());
  }
  EXPECT_EQ(workspace_of(by_library(few, 8), measured).basis, WorkspaceBasis::bounded);
}

TEST(Workspace, ThatOnlyAFormulaGivesIsWithinNoLimit) {
  const Workspace found = workspace_of(by_library(workspace_key(64, 28, 64), 4), {});
  EXPECT_EQ(found.basis, WorkspaceBasis::formula);
  EXPECT_FALSE(found.within(Bytes(1e18)));
  EXPECT_TRUE(found.within({}));
}

}  // namespace
}  // namespace dlscale::model
