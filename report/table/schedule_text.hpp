#pragma once
#include <string>

#include "core/run/run.hpp"

namespace dlscale::report {

/// How a run exchanges gradients, in words: "wait_free", "wait_free by parameter server", "horovod
/// (cycle 5.000 ms)". Names only unusual settings.
std::string schedule_text(const Run& run);

}  // namespace dlscale::report
