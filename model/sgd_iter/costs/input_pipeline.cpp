#include "model/sgd_iter/costs/input_pipeline.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/error.hpp"

namespace dlscale::model {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

template <class Q>
bool is_amount(Q value) {
  return std::isfinite(value.si()) && value >= Q();
}

template <class Q>
bool is_positive(Q value) {
  return is_amount(value) && value > Q();
}

}  // namespace

InputRate input_rate(const SampleCost& sample, const InputNode& node) {
  EXPECT(is_positive(sample.stored) && is_amount(sample.decode) && node.threads >= 1);
  EXPECT(!node.read || is_positive(*node.read));
  const double read = node.read ? *node.read / sample.stored * Seconds(1) : infinity;
  const double decode = node.threads * (Seconds(1) / sample.decode);
  return read <= decode ? InputRate{read, InputStage::read} : InputRate{decode, InputStage::decode};
}

BytesPerSecond shared_read(BytesPerSecond client, BytesPerSecond server, double nodes) {
  EXPECT(is_positive(client) && is_positive(server) && std::isfinite(nodes) && nodes >= 1);
  return std::min(client, server / nodes);
}

double accelerator_utilisation(Seconds compute, Seconds stall) {
  EXPECT(is_positive(compute) && is_amount(stall));
  return compute / (compute + stall);
}

BytesPerSecond required_read(double samples_per_s, Bytes stored) {
  EXPECT(std::isfinite(samples_per_s) && samples_per_s > 0 && is_positive(stored));
  return stored * samples_per_s / Seconds(1);
}

}  // namespace dlscale::model
