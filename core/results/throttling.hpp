#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace dlscale {

/// Why a GPU runs slower than it was asked to, among the bits of DeviceState::throttle_reasons: a
/// limit of power or temperature, or a brake outside. An idle GPU, and clocks that the user or a
/// display set, are no throttling.
std::vector<std::string> throttle_names(std::uint64_t reasons);

}  // namespace dlscale
