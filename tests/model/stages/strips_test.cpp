#include "model/parallel/stages/strips.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "model/parallel/stages/image_sides.hpp"
#include "tests/core/support.hpp"
#include "tests/model/stages/staged.hpp"

namespace dlscale::model {
namespace {

using dlscale::test::config_error;
using dlscale::test::expect_contains;
using test::Staged;

Seconds sum_of_parts(const StagedParts& parts) {
  return parts.computing + parts.unequal + parts.bubble + parts.messages + parts.strips +
         parts.exchange + parts.input;
}

/// ResNet-110 v2 for large images on the GPUs of one node.
Staged large_images() {
  return Staged(with_side(load_network("resnet110_v2"), 512), "v100x16_ib100");
}

TEST(Strips, ShareTheRowsOfEveryLayer) {
  const Network network = load_network("resnet50");
  const Network strip = strip_of(network, 4);
  EXPECT_EQ(strip.input().height, 56);
  EXPECT_EQ(strip.input().width, 224);
  EXPECT_EQ(strip.parameter_count(), network.parameter_count());
  EXPECT_EQ(strip_of(network, 1).input().height, 224);
}

TEST(Strips, DivideComputingAndAddMessages) {
  Staged staged = large_images();
  const StagedTraining whole = staged.predict(4);
  EXPECT_EQ(whole.parts.strips, Seconds());
  Seconds before = whole.total;
  for (const int strips : {2, 4}) {
    staged.plan.context = strips;
    const StagedTraining cut = staged.predict(4);
    EXPECT_NEAR(cut.parts.computing / whole.parts.computing, 1.0 / strips, 0.25 / strips);
    EXPECT_GT(cut.parts.strips, Seconds());
    EXPECT_GT(cut.parts.exchange, whole.parts.exchange);
    EXPECT_NEAR(sum_of_parts(cut.parts) / cut.total, 1, 1e-9);
    EXPECT_LT(cut.total, before);
    EXPECT_LT(cut.speedup, strips);
    EXPECT_NEAR(cut.alone / whole.alone, 1, 1e-6);
    before = cut.total;
  }
}

/// A filter of R rows needs (R - 1)/2 of each neighbour; 1 × 1 filters and sums need none.
TEST(Strips, ReceiveTheRowsThatFiltersRead) {
  Staged staged("resnet50", "v100x16_ib100");
  staged.plan.context = 2;
  staged.run.ranks = 2;
  staged.run.batch = 8;
  const Machine machine = nominal_machine(staged.cluster);
  const Network strip = strip_of(staged.network, 2);
  const auto two = strip_messages(strip, machine, staged.run, staged.plan);
  staged.plan.context = 4;
  staged.run.ranks = 4;
  const auto four = strip_messages(strip, machine, staged.run, staged.plan);
  int filters = 0;
  for (const Layer& layer : strip.layers()) {
    const std::size_t index = layer.id.index();
    const bool reads_others = !layer.input_shapes.empty() && rows_beside(layer) > 0;
    EXPECT_EQ(two[index] > Seconds(), reads_others) << layer.name;
    if (!reads_others) continue;
    ++filters;
    EXPECT_GT(four[index], two[index]);
    EXPECT_LT(four[index], 2 * two[index]);
  }
  EXPECT_EQ(filters, 18);  // 16 blocks, the stem and its pooling
}

TEST(Strips, OverNodesTakeLonger) {
  Staged staged = large_images();
  staged.plan.context = 4;
  const Seconds near = staged.predict(4).parts.strips;
  staged.run.ranks_per_node = 2;
  EXPECT_GT(staged.predict(4).parts.strips, near);
}

TEST(Strips, GoWithStagesAndCopies) {
  Staged staged = large_images();
  staged.plan = parallel::parse_plan("data=2,context=2,stages=2,micro_batches=4,schedule=gpipe");
  const StagedTraining training = staged.predict(16);
  EXPECT_EQ(training.exchanges.front().ranks, 4);
  EXPECT_NEAR(sum_of_parts(training.parts) / training.total, 1, 1e-9);
  EXPECT_GT(training.parts.messages, Seconds());
  EXPECT_LE(training.speedup, 8);
}

/// Rows come again for the layers that are computed again, and for no others.
TEST(Strips, ReceiveRowsAnewForWhatIsComputedAgain) {
  Staged staged = large_images();
  staged.plan.context = 4;
  const Seconds once = staged.predict(4).parts.strips;
  staged.plan.recompute = parallel::Recompute::full;
  const Seconds full = staged.predict(4).parts.strips;
  EXPECT_NEAR(full / once, 1.5, 1e-9);
  staged.plan.recompute = parallel::Recompute::block;
  staged.plan.recompute_layers = 20;
  const Seconds block = staged.predict(4).parts.strips;
  EXPECT_GT(block, once);
  EXPECT_LT(block, full);
}

/// As the memory of image sides has it.
TEST(Strips, NeedTheMemoryOfTheirRows) {
  const Network network = load_network("resnet110_v2");
  Staged staged(with_side(network, 1024), "v100x16_ib100");
  staged.plan.context = 4;
  const Bytes need = staged.predict(1).memory.front().total();
  EXPECT_NEAR(need / ImageMemory(network).need({.strips = 4}, 1024), 1, 0.02);
}

/// Each number of strips up to the named one runs.
TEST(Strips, RunAsFarAsTheRefusalSays) {
  const Network network = load_network("inception_v4");
  const std::string refusal = config_error([&] { (void)strip_of(network, 16); });
  const std::size_t at = refusal.find("at most ");
  ASSERT_NE(at, std::string::npos) << refusal;
  const int most = std::stoi(refusal.substr(at + 8));
  EXPECT_NO_THROW((void)strip_of(network, most));
  EXPECT_THROW((void)strip_of(network, most + 1), ConfigError);
}

/// Four strips of four rows each read two rows of both neighbours: all four, and no fifth.
TEST(Strips, KeepNoMoreThanTheMap) {
  EXPECT_EQ(kept_rows(4, 4, 2), 4);
  EXPECT_EQ(kept_rows(8, 4, 1), 4);
  EXPECT_EQ(kept_rows(8, 2, 1), 5);  // one neighbour
  EXPECT_EQ(kept_rows(7, 1, 3), 7);
  const Network whole = load_network("resnet50");
  const Network strip = strip_of(whole, 7);
  const std::vector<double> shares = kept_with_neighbours(whole, strip, 7);
  for (const Layer& layer : strip.layers()) {
    EXPECT_LE(shares[layer.id.index()] * layer.output.height, whole.layer(layer.id).output.height)
        << layer.name;
  }
}

TEST(Strips, RefuseWhatCannotBeCut) {
  const auto refusal = [](const char* name, int strips) {
    return config_error([&] { (void)strip_of(load_network(name), strips); });
  };
  for (const char* name : {"vgg16", "alexnet", "googlenet", "vit_base"}) {
    for (const int strips : {2, 4}) {
      expect_contains(refusal(name, strips), "reads all pixels at once. Leave context out");
    }
  }
  expect_contains(refusal("vgg16", 2), "context 2 cuts images into strips");
  expect_contains(refusal("vgg16", 2), "layer \"fc6\"");
  expect_contains(refusal("resnet50", 16), "reads maps of 7 rows. Take a context of at most 7.");
  const std::string inception = refusal("inception_v4", 8);
  expect_contains(inception, "context 8 cuts images into as many strips of rows");
  expect_contains(inception, "Take a context of at most ");
  expect_contains(refusal("bert_base", 2), "context");
}

}  // namespace
}  // namespace dlscale::model
