#pragma once
#include <cstddef>
#include <functional>
#include <list>
#include <string>
#include <vector>

#include "core/base/units.hpp"

namespace dlscale::backend {

/// Cache of the reference's answers. A layer that is checked again with another algorithm then
/// needs no second run of plain loops in double precision. Such a run takes far longer than the
/// checked operation.
class ReferenceAnswers {
 public:
  /// A tensor that a pass wrote, in plain order.
  struct Tensor {
    std::string name;
    enum class Extent { batch, whole } extent;  ///< per image, or summed over images
    std::vector<float> values;
  };
  using Answer = std::vector<Tensor>;

  /// Keeps up to `room` bytes of values, the most recently used.
  explicit ReferenceAnswers(Bytes room = Bytes(1 << 30)) : room_(room) {}

  /// Returns the answer kept under `key`, or calls `compute` and keeps its result. `key` must
  /// identify everything that the answer depends on. Valid until the next call.
  const Answer& get(const std::string& key, const std::function<Answer()>& compute);

 private:
  struct Kept {
    std::string key;
    Answer answer;
    Bytes size;
  };
  void make_room();

  Bytes room_;
  std::list<Kept> kept_;  ///< most recently used first
};

}  // namespace dlscale::backend
