#pragma once
#include <span>
#include <string>
#include <vector>

#include "app/interleaved.hpp"

namespace dlscale::app {

/// The rounds in which the machine was itself (disturbance()), in order, and what is to be told of
/// the others.
struct Undisturbed {
  std::vector<Round> kept;
  int set_aside = 0;
  std::vector<std::string> notes;  ///< "round 9 was set aside: …" of the first few
};
Undisturbed undisturbed(std::span<const Round> rounds);

}  // namespace dlscale::app
