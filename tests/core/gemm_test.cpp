#include "core/network/gemm.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>

#include "tests/core/support.hpp"

namespace dlscale {
namespace {

using test::expect_contains;

GemmShape parsed(std::string_view text) {
  return parse_gemm_shape(text, "--sizes");
}

std::vector<GemmShape> loaded(std::string_view text) {
  const test::TemporaryFolder folder;
  return load_gemm_shapes(folder.write("small.yaml", text).string());
}

std::string refusal(std::string_view text) {
  return test::config_error([&] { (void)loaded(text); });
}

TEST(GemmShape, IsReadWithItsTransposesAndItsBatch) {
  EXPECT_EQ(parsed("16x1760x5"), (GemmShape{16, 1760, 5}));
  EXPECT_EQ(parsed("1x2x3:nn"), (GemmShape{1, 2, 3}));
  EXPECT_EQ(parsed("1x2x3:tn"), (GemmShape{1, 2, 3, true, false}));
  EXPECT_EQ(parsed("1x2x3:nt"), (GemmShape{1, 2, 3, false, true}));
  EXPECT_EQ(parsed("1x2x3:b4"), (GemmShape{1, 2, 3, false, false, 4}));
  EXPECT_EQ(parsed("1x2x3:tt:b4"), (GemmShape{1, 2, 3, true, true, 4}));
  EXPECT_EQ(parsed("1048576x1x1").m, 1048576);
}

TEST(GemmShape, IsRefusedInOneSentence) {
  for (const char* wrong : {"",          "x",           "64x64",       "64x64x",
                            "x64x64",    "64xx64",      "64x64x64x64", "0x1x1",
                            "1x-1x1",    "1x1x1048577", "1.5x1x1",     "1x1x99999999999999999999",
                            "1x1x1:",    "1x1x1:n",     "1x1x1:nx",    "1x1x1:NT",
                            "1x1x1:ntn", "1x1x1:nt:",   "1x1x1::b2",   "1x1x1:b",
                            "1x1x1:b0",  "1x1x1:b2:nt", "1x1x1:nt:nt", "1x1x1:b2:b2",
                            "1x1x1nt",   "nan",         "1x1xé"}) {
    const std::string error = test::config_error([&] { (void)parsed(wrong); });
    expect_contains(error, "--sizes names \"" + std::string(wrong) + "\"");
    expect_contains(error, "Write m x n x k as 64x128x256");
  }
}

TEST(GemmShape, InOtherSignsIsShownInOurs) {
  for (const char* text :
       {"256X256X256", "256×256×256", "256*256*256", "256,256,256", "256 256 256",
        "256 x 256 x 256", "256;256;256", " 256x256x256", "256"}) {
    expect_contains(test::config_error([&] { (void)parsed(text); }), "Write 256x256x256.");
  }
  expect_contains(test::config_error([&] { (void)parsed("2X3X4:nt:b5"); }), "Write 2x3x4:nt:b5.");
}

TEST(GemmShape, HasAKeyOfItsOwn) {
  EXPECT_EQ(kernel_key(parsed("16x1760x5:nt")), "gemm m16 n1760 k5 ta0 tb1");
  EXPECT_EQ(kernel_key(parsed("1x2x3:tn:b7")), "gemm m1 n2 k3 ta1 tb0 batch7");
  std::set<std::string> keys;
  for (const char* text :
       {"1x2x3", "2x1x3", "1x3x2", "1x2x3:tn", "1x2x3:nt", "1x2x3:tt", "1x2x3:b2"}) {
    keys.insert(kernel_key(parsed(text)));
  }
  EXPECT_EQ(keys.size(), 7U);
}

TEST(GemmWork, CountsEveryOperandOnceInItsPrecision) {
  const Work work = dlscale::work(parsed("2x3x5:tt"), DType::f32);
  EXPECT_EQ(work.flops, Flops(2 * 2 * 3 * 5));
  EXPECT_EQ(work.bytes, Bytes(4 * (2 * 5 + 5 * 3 + 2 * 3)));
  EXPECT_EQ(dlscale::work(parsed("2x3x5"), DType::tf32).bytes, work.bytes);
  EXPECT_EQ(dlscale::work(parsed("2x3x5"), DType::bf16).bytes, 0.5 * work.bytes);
  const Work several = dlscale::work(parsed("2x3x5:b9"), DType::f32);
  EXPECT_EQ(several.flops, 9 * work.flops);
  EXPECT_EQ(several.bytes, 9 * work.bytes);
}

TEST(GemmWork, OfTheLargestProductIsFinite) {
  const Work work = dlscale::work(parsed("1048576x1048576x1048576:b1048576"), DType::f32);
  EXPECT_EQ(work.flops, Flops(0x1p81));
  EXPECT_EQ(work.bytes, Bytes(3 * 0x1p62));
}

TEST(GemmList, HoldsEachProductOnceInTheOrderOfTheFile) {
  const auto shapes =
      loaded("shapes: small\ndoc: a test\nproducts: [2x2x2:nt, 1x2x3, '2x2x2:nt']\n");
  EXPECT_EQ(shapes, (std::vector<GemmShape>{{2, 2, 2, false, true}, {1, 2, 3}}));
}

TEST(GemmList, JoinsTheListsItNames) {
  const auto all = load_gemm_shapes("deepbench");
  const auto train = load_gemm_shapes("deepbench_train");
  const auto inference = load_gemm_shapes("deepbench_inference");
  EXPECT_EQ(train.size(), 160U);
  EXPECT_EQ(inference.size(), 84U);  // of 88 rows
  EXPECT_EQ(all.size(), 243U);       // of 248
  EXPECT_EQ(all.front(), train.front());
}

TEST(GemmList, OfConvolutionsIsRefusedWithWhatMeasuresThem) {
  expect_contains(test::config_error([] { (void)load_gemm_shapes("convnet"); }), "as convolutions");
}

/// First product of DeepBench's training set, and its operations as its table counts them:
/// column-major 1760 16 1760 N N, and 5124 9124 2560 T N.
TEST(GemmList, HasDeepBenchInRowMajorOrder) {
  const auto shapes = load_gemm_shapes("deepbench_train");
  EXPECT_EQ(shapes.front(), (GemmShape{16, 1760, 1760}));
  EXPECT_EQ(work(shapes.front(), DType::f32).flops, Flops(99123200));
  EXPECT_NE(std::find(shapes.begin(), shapes.end(), GemmShape{9124, 5124, 2560, false, true}),
            shapes.end());
}

TEST(GemmList, IsRefusedWithFileAndPlace) {
  expect_contains(refusal("shapes: small\nproducts: [2x2]\n"),
                  "small.yaml: /products names \"2x2\"");
  expect_contains(refusal("shapes: small\nproducts: []\n"), "/products");
  expect_contains(refusal("shapes: small\n"), "/products is missing");
  expect_contains(refusal("shapes: small\nproduct: [2x2x2]\n"), "Did you mean \"products\"?");
  expect_contains(refusal("shapes: small\nproducts: [[2x2x2]]\n"), "holds more than words");
  expect_contains(refusal("shapes: small\nproducts: {a: 2x2x2}\n"), "/products");
  expect_contains(refusal("shapes: small\nlists: [transformer]\nproducts: [2x2x2]\n"),
                  "beside products of its own");
  expect_contains(refusal("shapes: small\nlists: [deepbench]\n"), "/products is missing");
  expect_contains(refusal("shapes: small\nlists: [transformr]\n"), "transformer");
  expect_contains(test::config_error([] { (void)load_gemm_shapes("deepbnch"); }), "deepbench");
}

TEST(GemmList, ThatNamesItselfIsRefused) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "round.yaml";
  (void)folder.write("round.yaml", "shapes: round\nlists: [" + file.string() + "]\n");
  expect_contains(test::config_error([&] { (void)load_gemm_shapes(file.string()); }),
                  "/products is missing");
}

}  // namespace
}  // namespace dlscale
