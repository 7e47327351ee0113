#pragma once
#include <span>
#include <string>
#include <string_view>

namespace dlscale::report {

/// A kind of memory in a bar.
struct BarPart {
  std::string_view name;
  char letter = '?';
  double bytes = 0;  ///< ≥ 0
};

/// A bar of the device, a letter a kind: "[WWGGOOOOAAAA....] W weights, …". What does not fit
/// stands behind "|", and shrinks the device where the bar would pass 76 columns. Requires
/// `device` > 0 bytes.
std::string memory_bar(std::span<const BarPart> parts, double device);

}  // namespace dlscale::report
