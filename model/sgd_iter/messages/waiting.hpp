#pragma once
#include <string_view>

#include "core/run/run.hpp"

namespace dlscale::model {

/// How ranks wait for each other before a message of training, in the words of bench comm
/// --waiting: where the training thread itself sends, it spins; a thread that sends beside
/// computing sleeps.
inline std::string_view waiting_in(Schedule schedule) {
  return schedule == Schedule::sequential ? "spin" : "sleep";
}

}  // namespace dlscale::model
