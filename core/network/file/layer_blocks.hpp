#pragma once
#include <vector>

#include "core/config/config_file.hpp"
#include "core/network/network.hpp"

namespace dlscale {

/// Layers of a network file, with its blocks written out. docs/reference/configuration/networks.md
/// describes the notation.

/// Values that the key "with" of `use` gives to numbers of the key "with" of `owner`; they may be
/// expressions of `names`. Throws ConfigError, also for a number that `owner` does not have.
NamedNumbers read_given(const ConfigMap& use, const ConfigMap& owner, const NamedNumbers& names);

/// `outer`, and the numbers of the key "with" of `owner`: in its order, each as given, or else its
/// default, an expression of all before it. Throws ConfigError.
NamedNumbers read_numbers(const ConfigMap& owner, const NamedNumbers& outer,
                          const NamedNumbers& given);

/// The layers of a network file, in order: those of a block as often as it repeats, named
/// <block><copy>.<layer>. `numbers` are those of the file. Throws ConfigError, also for more than
/// 20,000 layers.
std::vector<Network::Node> read_layers(const ConfigMap& file, const NamedNumbers& numbers);

}  // namespace dlscale
