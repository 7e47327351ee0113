#include <gtest/gtest.h>

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "model/parallel/stages/image_sides.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "tests/core/support.hpp"

namespace dlscale::model {
namespace {

using dlscale::test::config_error;
using dlscale::test::expect_contains;

constexpr int step = 32;

Network amoebanet_d_256() {
  return dlscale::test::load_text(
      "network: amoebanet_d_256\nlike: amoebanet_d\nwith: {filters: 256}\n",
      [](const std::string& file) { return load_network(file); });
}

/// The networks of GEMS, and the side with which the table of batches has its images.
struct Known {
  Known(const char* title, const Network& read, int images)
      : name(title), network(read), memory(read), side(images) {}
  const char* name;
  Network network;
  ImageMemory memory;
  int side;
};
const std::vector<Known>& known() {
  static const std::vector<Known> all{{"ResNet-1001-v2", load_network("resnet1001_v2"), 256},
                                      {"ResNet-110-v2", load_network("resnet110_v2"), 1024},
                                      {"AmoebaNet-D", amoebanet_d_256(), 1024}};
  return all;
}

constexpr int cards[] = {16, 32, 80};
Bytes memory_of(int card) {
  return Bytes(1e9 * card);
}

/// The page of the documentation that holds the tables.
std::string page() {
  std::ifstream file(DLSCALE_SOURCE_DIR "/docs/explanation/image-sides.md");
  return {std::istreambuf_iterator<char>(file), {}};
}

/// One image in f32 by the formula: outputs that are not of ReLUs, and 12 bytes a parameter.
/// AmoebaNet-D's ReLUs keep outputs besides, because others read their inputs.
TEST(ImageSides, OneGpuAsByTheFormula) {
  const int sides[2][3] = {{256, 352, 576}, {768, 1120, 1760}};
  for (std::size_t network = 0; network < 2; ++network) {
    for (std::size_t card = 0; card < 3; ++card) {
      EXPECT_NEAR(known()[network].memory.largest_side({}, memory_of(cards[card]), step),
                  sides[network][card], step)
          << known()[network].name << ' ' << cards[card];
    }
  }
}

TEST(ImageSides, GrowsWithPixelsAsTheNetworkDoes) {
  const Known& resnet = known()[1];
  for (const int side : {32, 96, 512}) {
    dlscale::Run run;
    run.batch = 1;
    const Network sized = with_side(resnet.network, side);
    const MemoryNeed need = memory_need(sized, DeviceKind::gpu, run);
    const Bytes beside_libraries = need.total() - Bytes(need.libraries.bytes);
    EXPECT_NEAR(resnet.memory.need({}, side) / beside_libraries, 1, 1e-3) << side;
  }
}

/// ResNet-1k with one image: 16.8 GB with 224 × 224 and 153 GB with 720 × 720. [arXiv:1911.05146,
/// section 1] TensorFlow kept the output of each ReLU besides, a third of all.
TEST(ImageSides, MemoryOfResNet1kIsBelowTensorFlows) {
  for (const auto& [side, published] : {std::pair{224, 16.8}, {720, 153.0}}) {
    const double predicted = known()[0].memory.need({}, side).si() / 1e9;
    RecordProperty(fmt::format("GB at {}", side), fmt::format("{:.1f}", predicted));
    EXPECT_LT(predicted, published) << side;
    EXPECT_GT(1.5 * predicted, published * 0.9) << side << ' ' << predicted;
  }
}

TEST(ImageSides, TablesOfThePage) {
  const std::string text = page();
  const std::vector<ImageTraining> ways{
      {},
      {.stages = 2},
      {.stages = 4},
      {.stages = 8},
      {.stages = 4, .schedule = "gems_master", .micro_batches = 4},
      {.strips = 2},
      {.strips = 4}};
  for (const Known& one : known()) {
    for (const int card : cards) {
      std::string sides = fmt::format("| {} | {} GB |", one.name, card);
      std::string batches = fmt::format("| {}, {}² | {} GB |", one.name, one.side, card);
      for (const ImageTraining& way : ways) {
        const Bytes memory = memory_of(card);
        sides += fmt::format(" {} |", one.memory.largest_side(way, memory, step));
        batches += fmt::format(" {} |", one.memory.largest_micro_batch(way, one.side, memory));
      }
      expect_contains(text, sides);
      expect_contains(text, batches);
    }
  }
}

TEST(ImageSides, MoreRanksNeverHoldSmallerImages) {
  const ImageMemory& memory = known()[1].memory;
  int before = 0;
  for (const int stages : {1, 2, 4, 8}) {
    const int side = memory.largest_side({.stages = stages}, memory_of(16), step);
    EXPECT_GE(side, before);
    before = side;
  }
  before = 0;
  for (const int strips : {1, 2, 4, 8}) {
    const int side = memory.largest_side({.strips = strips}, memory_of(16), step);
    EXPECT_GE(side, before);
    before = side;
  }
}

TEST(ImageSides, MicroBatchesOfGpipeAddUpAndGemsBatchesDoNot) {
  const ImageMemory& memory = known()[1].memory;
  const Bytes one = memory.need({.stages = 4}, 256);
  EXPECT_GT(memory.need({.stages = 4, .micro_batches = 8}, 256) / one, 1.5);
  const ImageTraining mast{.stages = 4, .schedule = "gems_mast", .micro_batches = 2};
  ImageTraining master = mast;
  master.schedule = "gems_master";
  master.micro_batches = 16;
  EXPECT_EQ(memory.need(mast, 256).si(), memory.need(master, 256).si());
}

TEST(ImageSides, RefusesNetworksOfOneSide) {
  const Network alexnet = load_network("alexnet");
  expect_contains(config_error([&] { (void)with_side(alexnet, 512); }), "alone");
  expect_contains(
      config_error([&] { (void)known()[1].memory.need({.schedule = "gems_mast"}, 256); }),
      "gems_mast");
}

}  // namespace
}  // namespace dlscale::model
