#include "model/parallel/parts/stage_cut.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "core/network/network.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "tests/model/stages/staged.hpp"

/// Cuts that are chosen, against cuts that are stated.
namespace dlscale::model {
namespace {

using test::Staged;

FitLevel level_of(const StagedTraining& training) {
  return fit_level(training.need(), training.device_memory);
}

bool says_that_memory_decides(const StagedTraining& training) {
  return std::ranges::any_of(
      training.notes, [](const Note& note) { return note.kind == NoteKind::memory_cuts_stages; });
}

/// Layers whose time and memory lie at opposite ends: large images first, many weights last.
Network small_network() {
  std::vector<Network::Node> nodes;
  std::string before = "input";
  for (int i = 0; i < 9; ++i) {
    const std::string name = "conv" + std::to_string(i);
    const int channels = 64 << (i / 2);
    nodes.push_back({name,
                     Convolution{.out_channels = channels,
                                 .kernel_h = 3,
                                 .kernel_w = 3,
                                 .stride = i % 2 == 1 ? 2 : 1,
                                 .pad = 1},
                     {before}});
    before = name;
  }
  nodes.push_back({"fc", FullyConnected{1000}, {before}});
  nodes.push_back({"loss", SoftmaxCrossEntropy{}, {"fc"}});
  return {"small", {3, 128, 128}, nodes};
}

/// All cuts of so many layers into three stages.
std::vector<std::vector<int>> all_cuts(int layers) {
  std::vector<std::vector<int>> cuts;
  for (int first = 1; first + 2 <= layers; ++first) {
    for (int second = 1; first + second + 1 <= layers; ++second) {
      cuts.push_back({first, second, layers - first - second});
    }
  }
  return cuts;
}

TEST(ChosenCuts, EqualTheSameCutStated) {
  for (const char* name : {"resnet18", "vgg16", "googlenet"}) {
    for (const int images : {64, 1024}) {
      Staged staged(name, "p40x16");
      staged.plan.stages = 4;
      staged.plan.micro_batches = 8;
      const StagedTraining chosen = staged.predict(images);
      staged.plan.stage_layers = chosen.layers;
      const StagedTraining stated = staged.predict(images);
      EXPECT_EQ(stated.total, chosen.total) << name;
      EXPECT_EQ(stated.need().bytes, chosen.need().bytes) << name;
      EXPECT_FALSE(says_that_memory_decides(stated));
    }
  }
}

/// No other cut fits more surely, and none that fits as surely is quicker: its slowest stage is no
/// faster. What GPipe gains by parts whose forward and backward are slow at different places, and
/// what messages cost, is not searched for.
TEST(ChosenCuts, AreTheBestOfAll) {
  std::set<FitLevel> levels;
  int decided = 0;
  for (const char* schedule : {"1f1b", "gpipe", "zero_bubble"}) {
    for (const double gigabytes : {1.0, 2.0, 3.0, 4.0, 5.0, 8.0}) {
      for (const parallel::Recompute recompute :
           {parallel::Recompute::none, parallel::Recompute::full}) {
        Staged staged(small_network(), "p40x16");
        staged.cluster.device.memory = Bytes(1e9 * gigabytes);
        staged.plan.stages = 3;
        staged.plan.micro_batches = 6;
        staged.plan.schedule = schedule;
        staged.plan.recompute = recompute;
        const StagedTraining chosen = staged.predict(384);
        const FitLevel level = level_of(chosen);
        levels.insert(level);
        decided += says_that_memory_decides(chosen) ? 1 : 0;
        for (const std::vector<int>& cut : all_cuts(11)) {
          staged.plan.stage_layers = cut;
          const StagedTraining stated = staged.predict(384);
          const std::string what = std::string(schedule) + ' ' + std::to_string(gigabytes) +
                                   " GB " + std::to_string(cut[0]) + '/' + std::to_string(cut[1]);
          EXPECT_GE(level_of(stated), level) << what;
          if (level_of(stated) != level) continue;
          EXPECT_GE(stated.total / chosen.total, 0.94) << what;
        }
      }
    }
  }
  EXPECT_EQ(levels.size(), 3U);
  EXPECT_GT(decided, 0);
}

/// More images at a time are computed faster, unless memory asks for another cut, which is said. A
/// cut may be 2 % slower than another, since not all are tried.
TEST(ChosenCuts, AreNoSlowerWithMoreImagesUnlessMemoryDecides) {
  int decided = 0;
  for (const char* name : {"resnet50", "resnet101", "resnet152", "inception_v4", "vgg16"}) {
    Staged staged(name, "p40x16");
    staged.plan.stages = 4;
    staged.plan.data = 2;
    staged.plan.micro_batches = 8;
    double before = 0;
    for (const int images : {128, 256, 512, 768, 1024, 1280, 1536, 2048, 4096}) {
      const StagedTraining training = staged.predict(images);
      decided += says_that_memory_decides(training) ? 1 : 0;
      if (!says_that_memory_decides(training)) {
        EXPECT_GE(training.images_per_s, before * 0.98) << name << ' ' << images;
      }
      before = training.images_per_s;
    }
  }
  EXPECT_GT(decided, 0);
}

}  // namespace
}  // namespace dlscale::model
