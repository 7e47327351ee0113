#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "tests/core/support.hpp"
#include "train/engine/program_plan.hpp"

/// What the options of bench conv make of networks and lists.
namespace dlscale::bench {
namespace {

using test::expect_contains;

class BenchConvCommandLine : public testing::Test {
 protected:
  BenchConvCommandLine()
      : file_(std::filesystem::path(testing::TempDir()) /
              ("dlscale_tiny_" + std::to_string(getpid()) + ".yaml")) {
    std::ofstream(file_) << "network: tiny\n"
                            "doc: two layers\n"
                            "source: a test\n"
                            "input: {channels: 3, height: 8, width: 8}\n"
                            "layers:\n"
                            "  - {name: conv1, kind: convolution, out_channels: 4, kernel: 3}\n"
                            "  - {name: relu1, kind: relu}\n"
                            "  - {name: fc, kind: fully_connected, outputs: 3}\n"
                            "  - {name: loss, kind: softmax_cross_entropy}\n";
  }
  BenchConvCommandLine(const BenchConvCommandLine&) = delete;
  BenchConvCommandLine& operator=(const BenchConvCommandLine&) = delete;
  ~BenchConvCommandLine() override { std::filesystem::remove(file_); }

  std::vector<Cell> cells(std::map<std::string, std::string> given) {
    given.try_emplace("network", file_.string());
    given.try_emplace("backend", "reference");
    return cells_of(std::move(given));
  }

  std::vector<Cell> cells_of(std::map<std::string, std::string> given) {
    const Benchmark& conv = *family<Benchmark>().find("conv");
    Context context = make_context(conv, std::move(given), *group_.front());
    return conv.cells(context);
  }

  std::string list_refusal(std::map<std::string, std::string> given) {
    given.try_emplace("list", "convnet");
    given.try_emplace("backend", "reference");
    return refusal_of([&] { cells_of(std::move(given)); });
  }

  std::string refusal(std::map<std::string, std::string> given) {
    return refusal_of([&] { cells(std::move(given)); });
  }

  template <class Work>
  static std::string refusal_of(const Work& work) {
    try {
      work();
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }

  std::filesystem::path file_;
  std::vector<std::unique_ptr<backend::Communicator>> group_ = backend::local_group(1);
};

TEST_F(BenchConvCommandLine, MakesCellsForEachValueOfAnAxis) {
  const auto made = cells({{"batch", "1,2,4"}, {"passes", "forward"}, {"cache", "hot,cold"}});
  EXPECT_EQ(made.size(), 4U * 3U * 2U);
}

TEST_F(BenchConvCommandLine, TakesEveryNetworkAndEachConvolutionOnce) {
  std::set<std::string> networks;
  std::set<std::string> kernels;
  const auto made = cells({{"network", "all"}, {"layers", "convolution"}, {"passes", "forward"}});
  for (const Cell& cell : made) {
    networks.insert(cell.axes.at("network"));
    EXPECT_TRUE(kernels.insert(cell.axes.at("kernel")).second) << cell.axes.at("kernel");
  }
  std::set<std::string> expected;
  for (const std::string& name : config_names("networks")) {
    const Network network = load_network(name);
    if (!train::is_trainable(network)) continue;
    for (const Layer& layer : network.layers()) {
      if (kind_name(layer.kind) == "convolution") expected.insert(kernel_key(network, layer.id));
    }
  }
  EXPECT_EQ(kernels, expected);
  EXPECT_GT(networks.size(), 3U);
}

TEST_F(BenchConvCommandLine, MakesCellsForEveryCacheAndKindOfValues) {
  std::set<std::string> seen;
  for (const Cell& cell : cells({{"layers", "fc"},
                                 {"passes", "forward"},
                                 {"cache", "cold,rotating"},
                                 {"values", "zeros,normal,uniform"}})) {
    seen.insert(cell.axes.at("cache") + " " + cell.axes.at("values"));
  }
  EXPECT_EQ(seen.size(), 6U);
  EXPECT_TRUE(seen.contains("rotating zeros"));
  EXPECT_EQ(cells({}).front().axes.at("values"), "normal");
}

TEST_F(BenchConvCommandLine, RefusesWhatAListSaysItself) {
  for (const std::string axis : {"network", "batch", "layers"}) {
    const std::string refused = list_refusal({{axis, axis == "batch" ? "8" : "all"}});
    expect_contains(refused, "--" + axis + " has no effect beside --list convnet");
  }
  EXPECT_EQ(list_refusal({{"passes", "forward"}, {"check", "no"}}), "accepted");
  expect_contains(list_refusal({{"fuse", "relu"}}), "--fuse");
}

TEST_F(BenchConvCommandLine, MeasuresFusedLayersApart) {
  std::set<std::string> kernels;
  for (const Cell& cell : cells({{"fuse", "relu"}})) {
    EXPECT_EQ(cell.axes.at("fuse"), "relu");
    kernels.insert(cell.axes.at("kernel"));
  }
  EXPECT_TRUE(kernels.contains("convolution c3 h8 w8 k4 r3 s3 stride1 pad0 groups1 bias relu"));
  for (const std::string& kernel : kernels) EXPECT_FALSE(kernel.starts_with("relu ")) << kernel;
  EXPECT_EQ(cells({}).front().axes.at("fuse"), "none");
  EXPECT_THROW(cells({{"fuse", "all"}}), ConfigError);
}

TEST_F(BenchConvCommandLine, MakesCellsForEachLayoutAndNamesThoseThatAreAskedFor) {
  std::map<std::string, int> count;
  for (const Cell& cell : cells({{"layers", "fc"}, {"layout", "chosen,nchw,nhwc,blocked"}})) {
    const auto layout = cell.axes.find("layout");
    ++count[layout == cell.axes.end() ? "none" : layout->second];
  }
  EXPECT_EQ(count,
            (std::map<std::string, int>{{"none", 3}, {"nchw", 3}, {"nhwc", 3}, {"blocked", 3}}));
  for (const Cell& cell : cells({})) EXPECT_FALSE(cell.axes.contains("layout"));
}

TEST_F(BenchConvCommandLine, RefusesUnknownValuesNamingTheOption) {
  EXPECT_NE(refusal({{"layout", "nhcw"}}).find("--layout names nhcw"), std::string::npos);
  EXPECT_NE(refusal({{"layers", "conv9"}}).find("tiny has no such layer"), std::string::npos);
  EXPECT_NE(refusal({{"passes", "forwards"}}).find("Did you mean \"forward\""), std::string::npos);
  EXPECT_NE(refusal({{"backend", "onednm"}}).find("no such compute backend"), std::string::npos);
  EXPECT_NE(refusal({{"cache", "warm"}}).find("--cache"), std::string::npos);
  EXPECT_NE(refusal({{"values", "ones"}}).find("--values"), std::string::npos);
  EXPECT_NE(refusal({{"check", "maybe"}}).find("--check"), std::string::npos);
  EXPECT_NE(refusal({{"batch", "0"}}).find("--batch"), std::string::npos);
  EXPECT_NE(refusal({{"dtype", "f8"}}), "accepted");
  EXPECT_NE(refusal({{"network", "resnet51"}}), "accepted");
}

}  // namespace
}  // namespace dlscale::bench
