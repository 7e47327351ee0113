#pragma once
#include <string_view>

#include "core/run/run.hpp"

namespace dlscale::model {

/// How ranks wait for each other before a message of training, in the words of bench comm
/// --waiting. A training thread that sends spins; a communication thread sleeps.
inline std::string_view waiting_in(Schedule schedule) {
  return schedule == Schedule::sequential ? "spin" : "sleep";
}

}  // namespace dlscale::model
