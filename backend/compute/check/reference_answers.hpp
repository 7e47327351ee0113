#pragma once
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::backend {

/// What the reference answered, so that a layer that is checked again, computed another way, costs
/// no second run of plain loops in double precision, which takes far longer than what is checked.
class ReferenceAnswers {
 public:
  /// A tensor that a pass wrote, in plain order.
  struct Tensor {
    std::string name;
    enum class Extent { batch, whole } extent;  ///< has images, or is a sum over them
    std::vector<float> values;
  };
  using Answer = std::vector<Tensor>;

  /// Keeps up to `room` of values, those asked for last.
  explicit ReferenceAnswers(Bytes room = Bytes(1 << 30)) : room_(room) {}

  /// The answer kept under `key`, or else what `compute` says, kept from now on. `key` tells all
  /// that the answer depends on. Valid until the next call.
  const Answer& get(const std::string& key, const std::function<Answer()>& compute);

 private:
  struct Kept {
    std::string key;
    Answer answer;
    Bytes size;
  };
  void make_room();

  Bytes room_;
  std::list<Kept> kept_;  ///< the one asked for last comes first
};

}  // namespace dlscale::backend
