#include "train/data/data.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace dlscale::train {
namespace {

std::vector<std::size_t> epoch(PictureSequence& sequence, std::uint64_t number, std::size_t n) {
  std::vector<std::size_t> pictures;
  for (std::size_t i = 0; i < n; ++i) pictures.push_back(sequence.at(number * n + i).picture);
  return pictures;
}

TEST(PictureSequence, ShowsEveryPictureOncePerEpoch) {
  PictureSequence sequence(37, 1);
  for (std::uint64_t e = 0; e < 4; ++e) {
    std::vector<std::size_t> pictures = epoch(sequence, e, 37);
    std::ranges::sort(pictures);
    for (std::size_t i = 0; i < pictures.size(); ++i) EXPECT_EQ(pictures[i], i);
  }
}

TEST(PictureSequence, ShufflesAnewEachEpochAndForEachSeed) {
  PictureSequence one(37, 1);
  PictureSequence other(37, 2);
  const auto first = epoch(one, 0, 37);
  EXPECT_NE(first, epoch(one, 1, 37));
  EXPECT_NE(first, epoch(other, 0, 37));
  EXPECT_EQ(first, epoch(one, 0, 37));
}

TEST(PictureSequence, GivesEveryPositionItsOwnCropSeed) {
  PictureSequence sequence(5, 1);
  std::set<std::uint64_t> seeds;
  for (std::uint64_t i = 0; i < 100; ++i) seeds.insert(sequence.at(i).seed);
  EXPECT_EQ(seeds.size(), 100U);
}

TEST(PictureSequence, PutsEveryPictureInEveryPlaceEquallyOften) {
  PictureSequence sequence(4, 9);
  int firsts = 0;
  for (std::uint64_t e = 0; e < 4000; ++e) firsts += sequence.at(4 * e).picture == 2 ? 1 : 0;
  EXPECT_NEAR(firsts, 1000, 140);  // five standard deviations
}

}  // namespace
}  // namespace dlscale::train
