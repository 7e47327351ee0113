#include "bench/conv/values.hpp"

#include <algorithm>
#include <cmath>
#include <random>

namespace dlscale::bench {
namespace {

// A prime, so that the rows of a tensor do not all begin with the same numbers.
constexpr std::size_t tile_size = 16381;
// The smallest magnitude kept; times any sigma in use it is far from a denormal (below 1e-38).
constexpr float smallest = 1e-6F;

}  // namespace

NormalValues::NormalValues() : tile_(tile_size) {
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& value : tile_) {
    value = normal(random);
    if (std::abs(value) < smallest) value = smallest;
  }
}

void NormalValues::fill(std::span<float> values, float sigma) const {
  for (std::size_t begin = 0; begin < values.size(); begin += tile_.size()) {
    const auto part = values.subspan(begin, std::min(tile_.size(), values.size() - begin));
    std::transform(part.begin(), part.end(), tile_.begin(), part.begin(),
                   [sigma](float, float normal) { return sigma * normal; });
  }
}

void NormalValues::fill(backend::ComputeDevice& device, const backend::Tensor& tensor,
                        float sigma) const {
  std::vector<float> plain(static_cast<std::size_t>(tensor.desc.elements()));
  fill(plain, sigma);
  device.copy(
      {device.plain(tensor.desc.dims, DType::f32), reinterpret_cast<std::byte*>(plain.data())},
      tensor);
  device.synchronize();
}

}  // namespace dlscale::bench
