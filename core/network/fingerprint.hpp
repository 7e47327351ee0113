#pragma once
#include <string>

#include "core/network/network.hpp"

namespace dlscale {

/// What tells networks apart that may go by one name: 16 hexadecimal digits that depend on what the
/// layers compute, in which order and from which others, and not on names, comments or the layout
/// of the file. Two networks of one fingerprint take the same time and learn the same.
std::string fingerprint(const Network& network);

}  // namespace dlscale
