#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace dlscale {

/// Reasons why a GPU runs slower than requested, among the bits of DeviceState::throttle_reasons: a
/// power or temperature limit, or an external brake. An idle GPU, and clocks set by the user or a
/// display, are not throttling.
std::vector<std::string> throttle_names(std::uint64_t reasons);

}  // namespace dlscale
