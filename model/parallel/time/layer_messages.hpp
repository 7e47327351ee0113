#pragma once
#include "model/parallel/time/layer.hpp"

namespace dlscale::model::parallel_time {

/// Seconds of the exposed messages of a layer, without those computed again. `products`: of linear
/// layers, `time`: parts of the layer that messages may hide under. See layer_time().
PassTime layer_messages(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes,
                        const PassTime& products, const PassTime& attention,
                        const PassTime& device);

/// Seconds of the tensor-parallel messages around the table of words, and around the head.
double table_message(const Setting& setting, const PlanSizes& plan, const LayerSizes& sizes);

}  // namespace dlscale::model::parallel_time
