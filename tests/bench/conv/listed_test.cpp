#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string>

#include "bench/conv/listed_convolutions.hpp"
#include "core/base/error.hpp"
#include "tests/bench/conv/fake_device.hpp"
#include "tests/bench/engine/quick.hpp"
#include "tests/core/support.hpp"

namespace dlscale::bench {
namespace {

using test::expect_contains;

constexpr std::string_view small_list = R"(shapes: small
doc: a test
convolutions:
  - {name: plain, batch: 2, channels: 3, height: 8, width: 9, out_channels: 4, kernel: [3, 2], stride: 2, pad: 1}
  - {name: alike, batch: 1, channels: 6, height: 5, width: 5, out_channels: 6, kernel: 1}
  - {name: oblong, batch: 3, channels: 6, height: 5, width: 5, out_channels: 6, kernel: 3, stride: [1, 2]}
)";

std::vector<ListedConvolution> loaded(std::string_view text) {
  return test::load_text(text, load_convolutions);
}

std::string error_after(std::string_view from, std::string_view to) {
  return test::error_after(small_list, from, to, load_convolutions);
}

TEST(ListedConvolutions, AreLayersOfNetworksOfTheirOwn) {
  const auto all = loaded(small_list);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[0].batch, 2);
  EXPECT_EQ(all[0].kernel, "convolution c3 h8 w9 k4 r3 s2 stride2 pad1 groups1");
  EXPECT_EQ(all[0].network->name(), "small_plain");
  EXPECT_EQ(all[0].network->layers()[2].name, "plain");
  EXPECT_EQ(all[0].network->layers()[2].output, (ImageShape{4, 4, 5}));
}

TEST(ListedConvolutions, ArePublishedOnes) {
  const auto convnet = load_convolutions("convnet");
  ASSERT_EQ(convnet.size(), 5U);
  EXPECT_EQ(convnet[2].kernel, "convolution c128 h32 w32 k128 r9 s9 stride1 pad0 groups1");
  // 128 images of 128 x 24 x 24 outputs, each of 128 x 9 x 9 multiply-adds
  EXPECT_EQ(work(*convnet[2].network, {LayerId(2), Pass::forward}, 128, DType::f32).flops,
            Flops(195689447424));
  std::set<std::string> kernels;
  const auto deepbench = load_convolutions("deepbench_convolution");
  for (const auto& each : deepbench) {
    EXPECT_TRUE(each.unsupported.empty()) << each.layer;
    kernels.insert(each.kernel + " batch " + std::to_string(each.batch));
  }
  EXPECT_EQ(deepbench.size(), 191U);
  EXPECT_EQ(kernels.size(), 191U);
}

TEST(ListedConvolutions, ThatAreDilatedAreUnsupportedByName) {
  const auto all =
      loaded(test::replaced(small_list, "kernel: 1}", "kernel: 3, pad: 2, dilation: 2}"));
  ASSERT_EQ(all.size(), 3U);
  EXPECT_EQ(all[1].network, nullptr);
  EXPECT_EQ(all[1].kernel, "convolution c6 h5 w5 k6 r3 s3 stride1 pad2 dilation2 groups1");
  expect_contains(all[1].unsupported, "dilation 2: dilated filters are not supported");
  EXPECT_NE(loaded(test::replaced(small_list, "kernel: 1}", "kernel: 1, dilation: 1}"))[1].network,
            nullptr);
  expect_contains(error_after("kernel: 1}", "kernel: 1, dilation: 0}"), "dilation");
}

TEST(ListedConvolutions, AreRefusedWithFileAndPlace) {
  expect_contains(error_after("kernel: 1", "kernal: 1"), "Did you mean \"kernel\"?");
  expect_contains(error_after("batch: 2", "batch: 0"), "convolution \"plain\"");
  expect_contains(error_after("stride: [1, 2]", "stride: [1, 2, 3]"), "neither one number nor two");
  expect_contains(error_after("kernel: 1", "kernel: 7"), "alike");
  expect_contains(error_after("name: alike", "name: plain"), "the name of two convolutions");
  expect_contains(error_after("name: alike", "name: pool"), "pool");
  expect_contains(test::config_error([] { (void)loaded("shapes: a\nconvolutions: []\n"); }),
                  "/convolutions");
  expect_contains(test::config_error([] { (void)loaded("shapes: a\n"); }),
                  "/convolutions is missing");
  expect_contains(test::config_error([] { (void)load_convolutions("transformer"); }),
                  "by the benchmark gemm");
  expect_contains(test::config_error([] { (void)load_convolutions("convnte"); }), "convnet");
}

TEST(ListedConvolutions, AreCheckedAndTimedInAllPasses) {
  const auto group = backend::local_group(1);
  const auto workbench =
      std::make_shared<Workbench>(make_fake_device(Fault::none), open_device("reference", 1), 1);
  const LayerSelection selection{.batches = {77},
                                 .dtypes = {DType::f32},
                                 .passes = parse_passes({"all"}),
                                 .layers = {"all"},
                                 .caches = {CacheState::hot}};
  const auto list = loaded(small_list);
  std::map<std::string, std::set<std::string>> passes;
  for (const Cell& cell : listed_cells(workbench, list, selection, *group.front())) {
    const std::string& layer = cell.axes.at("layer");
    passes[layer].insert(cell.axes.at("pass"));
    const Measurement row = cell.measure(Sampler(*group.front(), quick));
    EXPECT_EQ(cell.axes.at("network"), "small_" + layer);
    EXPECT_NE(cell.axes.at("batch"), "77");
    EXPECT_TRUE(cell.axes.at("kernel").starts_with("convolution c")) << cell.axes.at("kernel");
    EXPECT_EQ(row.status, layer == "oblong" ? Status::unsupported : Status::ok) << row.reason;
    if (layer == "oblong") {
      expect_contains(row.reason, "stride 1x2 and padding 0");
    }
  }
  const std::set<std::string> all{"forward", "backward_data", "backward_filter"};
  EXPECT_EQ(passes, (std::map<std::string, std::set<std::string>>{
                        {"plain", all}, {"alike", all}, {"oblong", all}}));
}

}  // namespace
}  // namespace dlscale::bench
