#pragma once
#include <string>

#include "core/run/run.hpp"

namespace dlscale::report {

/// How the gradients of a run travel, in words: "wait_free", "wait_free by parameter server",
/// "horovod (cycle 5.000 ms)". Of settings, those that are not as usual.
std::string schedule_text(const Run& run);

}  // namespace dlscale::report
