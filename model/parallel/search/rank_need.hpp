#pragma once
#include "model/memory/rank_memory.hpp"

namespace dlscale::model::parallel_search {

/// Peak of the rank that needs most, equal to that of rank_memory(). Only stages are computed that
/// may need most: the first and the last one, and those with more layers than all before them. A
/// later stage with as many layers keeps no more micro-batches, and no table. Requires schedules of
/// one copy.
memory::MemoryEstimate rank_need(const memory::TransformerShape& shape,
                                 const memory::MemorySetup& setup,
                                 const memory::Implementation& way);

/// Bytes that a rank of the first stage has at least: states and libraries.
double least_need(const memory::TransformerShape& shape, const memory::MemorySetup& setup);

}  // namespace dlscale::model::parallel_search
