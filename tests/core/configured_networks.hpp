#pragma once
#include <string>
#include <vector>

#include "core/config/config_path.hpp"
#include "core/network/network.hpp"

namespace dlscale::test {

/// The networks of configs/networks in the order of their names, loaded once: all take seconds.
inline const std::vector<Network>& configured_networks() {
  static const std::vector<Network> networks = [] {
    std::vector<Network> all;
    for (const std::string& name : config_names("networks")) all.push_back(load_network(name));
    return all;
  }();
  return networks;
}

}  // namespace dlscale::test
