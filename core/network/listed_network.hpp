#pragma once
#include <string>
#include <string_view>

namespace dlscale {

/// Name of the network in which one layer of a list of shapes is measured alone: "convnet_L1" for
/// L1 of convnet. It is the axis "network" of its rows.
std::string listed_network(std::string_view list, std::string_view layer);

/// The list of such a network; any other network itself.
std::string set_of(std::string network, std::string_view layer);

}  // namespace dlscale
