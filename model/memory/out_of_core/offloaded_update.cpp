#include "model/memory/out_of_core/offloaded_update.hpp"

#include <algorithm>

#include "core/base/error.hpp"

namespace dlscale::model {

OffloadedUpdate offloaded_update(const SpilledTraining& training, double parameters,
                                 double element_bytes, const HostLink& link,
                                 const HostUpdate& host) {
  EXPECT(parameters >= 1 && element_bytes > 0 && host.memory > BytesPerSecond());
  constexpr double f32_states = 16;  // weight, gradient and two moments
  Seconds forward;
  Seconds backward;
  for (const SpillLayer& layer : training.layers) {
    forward += layer.forward;
    backward += layer.backward;
  }
  OffloadedUpdate result;
  result.link = result.device = Bytes(element_bytes * parameters);
  result.host = Bytes(f32_states * parameters);
  result.update = Bytes((host.f32_bytes + element_bytes) * parameters) / host.memory;
  result.total = forward + std::max(backward, link.out(result.link)) +
                 std::max(result.update, link.in(result.link));
  result.stall = result.total - forward - backward;
  return result;
}

}  // namespace dlscale::model
