#include "bench/workbench/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::bench {
namespace {

// A prime, so that rows of a tensor start with different values.
constexpr std::size_t tile_size = 16381;
// Smallest magnitude; times any sigma in use it is far above denormals (below 1e-38).
constexpr float smallest = 1e-6F;
// √3: uniform numbers in [-a, a] have the standard deviation a / √3.
constexpr float uniform_bound = 1.7320508F;

}  // namespace

std::string_view value_kind_name(ValueKind kind) {
  switch (kind) {
    case ValueKind::zeros:
      return "zeros";
    case ValueKind::uniform:
      return "uniform";
    case ValueKind::normal:
      return "normal";
  }
  fail_expectation("a known kind of values");
}

ValueKind parse_value_kind(const std::string& name) {
  std::vector<std::string> known;
  for (const ValueKind kind : {ValueKind::zeros, ValueKind::uniform, ValueKind::normal}) {
    known.emplace_back(value_kind_name(kind));
    if (known.back() == name) return kind;
  }
  throw ConfigError(fmt::format("{} names {} (no kind of numbers to compute with). {}",
                                option_name("values"), name, suggestion(name, known)));
}

OperandValues::OperandValues(ValueKind kind) : tile_(tile_size, 0.0F) {
  if (kind == ValueKind::zeros) return;
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::uniform_real_distribution<float> uniform(-uniform_bound, uniform_bound);
  for (float& value : tile_) {
    value = kind == ValueKind::normal ? normal(random) : uniform(random);
    if (std::abs(value) < smallest) value = smallest;
  }
}

void OperandValues::fill(std::span<float> values, float sigma) const {
  for (std::size_t begin = 0; begin < values.size(); begin += tile_.size()) {
    const auto part = values.subspan(begin, std::min(tile_.size(), values.size() - begin));
    std::transform(part.begin(), part.end(), tile_.begin(), part.begin(),
                   [sigma](float, float normal) { return sigma * normal; });
  }
}

void OperandValues::fill(backend::ComputeDevice& device, const backend::Tensor& tensor,
                         float sigma) const {
  std::vector<float> plain(static_cast<std::size_t>(tensor.desc.elements()));
  fill(plain, sigma);
  device.copy(
      {device.plain(tensor.desc.dims, DType::f32), reinterpret_cast<std::byte*>(plain.data())},
      tensor);
  device.synchronize();
}

}  // namespace dlscale::bench
