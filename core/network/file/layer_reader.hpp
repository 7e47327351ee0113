#pragma once
#include "core/config/config_file.hpp"
#include "core/network/layer_kind.hpp"

namespace dlscale {

/// Reads the kind of a layer and its fields from one entry of the list "layers" of a network file.
/// Throws ConfigError for an unknown kind, an unknown key, and a value out of range.
LayerKind read_kind(const ConfigMap& map);

}  // namespace dlscale
