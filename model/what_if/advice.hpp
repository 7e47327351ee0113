#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The same training with one changed setting.
struct Change {
  std::string_view setting;  ///< its name, "schedule"
  std::string value;
  Run run;
  std::string all_reduce_override;                 ///< as Machine::all_reduce_asked
  AllReduceRule all_reduce = AllReduceRule::ring;  ///< rule of the cluster
};

/// Changes to one setting of the run at a time: schedule and its parameters, gradient reduction,
/// loader threads, place of normalization, time of batch copies, launches, fusion, precision,
/// batch. Settings that the run has already, or that do not apply to the machine's kind of device,
/// are left out. Some of the rest may not be predictable; that shows only when predicted.
std::vector<Change> changes_of(const Machine& machine, const Run& run);

}  // namespace dlscale::model
