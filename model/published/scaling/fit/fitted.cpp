#include "model/published/scaling/fit/fitted.hpp"

namespace dlscale::model::scaling {

const Fit& FittedScaling::of(const std::string& set) const {
  const auto found = without.find(set);
  return found == without.end() ? all : found->second;
}

}  // namespace dlscale::model::scaling
