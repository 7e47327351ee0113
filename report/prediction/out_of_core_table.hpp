#pragma once
#include <span>
#include <string>

#include "core/base/units.hpp"
#include "core/run/run.hpp"
#include "model/memory/out_of_core/policies.hpp"
#include "model/memory/out_of_core/spilled_training.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// A training beyond the memory of its device, and what policies make of it.
struct OutOfCoreAnswer {
  Run run;
  model::SpilledTraining training;
  model::HostLink link;
  Bytes memory;                             ///< of the device
  std::vector<model::SpillAnswer> answers;  ///< ≥ 1; those that do not fit have a larger peak
  bool tensors = false;                     ///< whether to list the tensors of the first answer
};

/// A row for each policy: step, stall, memory, and the slow-down against a device with enough
/// memory. `tensors` adds a table of what each tensor takes to copy and to compute anew, and what
/// becomes of it. In records and JSON ("dlscale.out_of_core", version 1) sizes are bytes and times
/// seconds. `notes` come below the first table.
Document out_of_core_document(const OutOfCoreAnswer& answer, std::span<const std::string> notes);

}  // namespace dlscale::report
