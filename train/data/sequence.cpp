#include "train/data/sequence.hpp"

#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "train/data/random_stream.hpp"

namespace dlscale::train {

PictureSequence::PictureSequence(std::size_t pictures, std::uint64_t seed)
    : seed_(seed), order_(pictures) {
  EXPECT(pictures >= 1);
  shuffle(0);
}

Pick PictureSequence::at(std::uint64_t position) {
  const std::uint64_t epoch = position / order_.size();
  if (epoch != epoch_) shuffle(epoch);
  return {order_[position % order_.size()], mix(seed_, 2 * position + 1)};
}

/// Shuffles by Fisher and Yates.
void PictureSequence::shuffle(std::uint64_t epoch) {
  epoch_ = epoch;
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  RandomStream random(mix(seed_, 2 * epoch));
  for (std::size_t n = order_.size(); n > 1; --n) {
    std::swap(order_[n - 1], order_[random.below(n)]);
  }
}

}  // namespace dlscale::train
