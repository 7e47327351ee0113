#pragma once
#include <string>
#include <string_view>

namespace dlscale {

/// The file of configs/networks that publications mean by `name`, such as "ResNet-50": the one
/// whose name has the same letters and digits, in any case. AlexNet is the one of a single tower,
/// and ResNet-50 and ResNet-152 have the stride in the 3 × 3 convolution. Empty if there is none.
std::string find_network(std::string_view name);

}  // namespace dlscale
