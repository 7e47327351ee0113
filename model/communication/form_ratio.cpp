#include "model/communication/form_ratio.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <utility>

namespace dlscale::model {
namespace {

constexpr double octaves_to_half_a_weight = 2;

/// r(m) without the ratio at `but`; past the end: with all.
double mean_near(std::span<const FormRatio> ratios, Bytes m, std::size_t but) {
  double sum = 0;
  double weights = 1;
  for (std::size_t i = 0; i < ratios.size(); ++i) {
    if (i == but) continue;
    const double octaves = std::abs(std::log2(m / ratios[i].size));
    const double weight = std::exp2(-octaves / octaves_to_half_a_weight);
    sum += weight * ratios[i].log_ratio;
    weights += weight;
  }
  return sum / weights;
}

}  // namespace

double FormRatios::log_ratio(Bytes m) const {
  return mean_near(at, m, at.size());
}

FormRatios form_ratios(std::vector<FormRatio> at) {
  FormRatios ratios;
  ratios.at = std::move(at);
  double squares = 0;
  for (std::size_t i = 0; i < ratios.at.size(); ++i) {
    const FormRatio& one = ratios.at[i];
    squares += std::pow(one.log_ratio - mean_near(ratios.at, one.size, i), 2);
  }
  if (ratios.at.empty()) return ratios;
  ratios.deviation = std::sqrt(squares / static_cast<double>(ratios.at.size()));
  return ratios;
}

}  // namespace dlscale::model
