#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "app/gate/interleaved.hpp"

namespace dlscale::app {

/// The rounds without a disturbance(), in order, and notes on the discarded ones.
struct Undisturbed {
  std::vector<Round> kept;
  std::size_t set_aside = 0;
  std::vector<std::string> notes;  ///< "round 9 was set aside: …", for the first few
  /// Whether more rounds are discarded than kept, apart from a few. The machine is then not steady,
  /// and measuring has to stop.
  [[nodiscard]] bool is_unsteady() const;
};
Undisturbed undisturbed(std::span<const Round> rounds);

}  // namespace dlscale::app
