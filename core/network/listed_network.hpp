#pragma once
#include <string>
#include <string_view>

namespace dlscale {

/// The network that a layer of a list of shapes is measured in, alone: "convnet_L1" of L1 of
/// convnet. The axis "network" of its rows.
std::string listed_network(std::string_view list, std::string_view layer);

/// The list of such a network; of any other that network itself.
std::string set_of(std::string network, std::string_view layer);

}  // namespace dlscale
