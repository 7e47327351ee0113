#pragma once
#include <utility>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::bench {

/// Fixed work that takes these times, one after the other, the last of them for ever.
class ScriptedWork {
 public:
  explicit ScriptedWork(std::vector<double> milliseconds) : left_(std::move(milliseconds)) {}
  Seconds operator()() {
    const Seconds time(1e-3 * left_.front());
    if (left_.size() > 1) left_.erase(left_.begin());
    return time;
  }

 private:
  std::vector<double> left_;
};

}  // namespace dlscale::bench
