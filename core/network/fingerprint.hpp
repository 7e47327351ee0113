#pragma once
#include <string>

#include "core/network/network.hpp"

namespace dlscale {

/// A hash that distinguishes networks with the same name, as 16 hexadecimal digits. It depends on
/// the computation of the layers, their order and their inputs; it ignores names, comments and the
/// layout of the file. Two networks with one fingerprint take the same time and learn the same.
std::string fingerprint(const Network& network);

}  // namespace dlscale
