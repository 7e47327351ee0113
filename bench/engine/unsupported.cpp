#include "bench/engine/unsupported.hpp"

namespace dlscale::bench {

Measurement unsupported(const Unsupported& error) {
  Measurement measurement;
  measurement.status = Status::unsupported;
  measurement.reason = error.what();
  return measurement;
}

}  // namespace dlscale::bench
