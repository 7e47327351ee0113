#pragma once
#include <variant>

#include "core/network/network.hpp"

namespace dlscale::model::sheet {

/// Whether a layer is of one of these kinds.
template <class... Kinds>
bool is(const Layer& layer) {
  return (std::holds_alternative<Kinds>(layer.kind) || ...);
}

}  // namespace dlscale::model::sheet
