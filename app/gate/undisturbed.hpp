#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/gate/interleaved.hpp"

namespace dlscale::app {

/// The rounds in which the machine was itself (disturbance()), in order, and what is to be told of
/// the others.
struct Undisturbed {
  std::vector<Round> kept;
  std::size_t set_aside = 0;
  std::vector<std::string> notes;  ///< "round 9 was set aside: …" of the first few
  /// Whether more are set aside than kept, but for a few: the machine is not steady, and measuring
  /// again has to end.
  [[nodiscard]] bool is_unsteady() const;
};
Undisturbed undisturbed(std::span<const Round> rounds);

}  // namespace dlscale::app
