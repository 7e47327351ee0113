#include "backend/host/preemptions.hpp"

#include <sys/resource.h>

#include "core/base/error.hpp"

namespace dlscale::backend {

long preemptions() {  // NOLINT(google-runtime-int)
  rusage usage{};
  EXPECT(::getrusage(RUSAGE_THREAD, &usage) == 0);
  return usage.ru_nivcsw;
}

}  // namespace dlscale::backend
