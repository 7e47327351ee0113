#pragma once
#include "model/parallel/time/layer.hpp"

namespace dlscale::model::parallel_time {

/// Exposed messages of a layer by the ranks that they run between, in seconds.
struct LayerMessages {
  PassTime tensor = {};
  PassTime context = {};
  PassTime experts = {};
  [[nodiscard]] PassTime total() const { return tensor + context + experts; }
};

/// Exposed messages of a layer, without those computed again. `products`: of linear layers,
/// `device`: with all other computing that messages may hide under. See layer_time().
LayerMessages layer_messages(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes,
                             const PassTime& products, const PassTime& attention,
                             const PassTime& device);

/// Seconds of the tensor-parallel messages around the table of words, and around the head.
double table_message(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes);

}  // namespace dlscale::model::parallel_time
