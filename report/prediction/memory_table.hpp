#pragma once
#include <optional>
#include <span>
#include <string>

#include "model/sgd_iter/kernels/memory.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A training on one rank's device, and whether it fits.
struct MemoryRow {
  Run run;
  model::MemoryNeed need;
  Bytes memory;  ///< of a rank; 0: not stated
};

/// Memory of trainings of one network, by batch. Columns: the parts of MemoryNeed::total(), its
/// sum, the least and the most, the memory of the device, and whether it fits. In records and JSON
/// ("dlscale.memory", version 1) sizes are bytes. `notes` come below the table; `largest_batch` is
/// the largest of all that fits, 0 if none does, absent if ranks have different memories. Requires
/// ≥ 1 row.
Document memory_document(std::span<const MemoryRow> rows, std::span<const std::string> notes,
                         std::optional<int> largest_batch = {});

}  // namespace dlscale::report
