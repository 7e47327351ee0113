#pragma once
#include <string>
#include <vector>

#include "core/run/run.hpp"
#include "model/machine/machine.hpp"

namespace dlscale::model {

/// The same training, run in another way.
struct Change {
  std::string option;  ///< of dlscale predict, "--schedule merged"
  Run run;
  std::string all_reduce_asked;                    ///< as Machine::all_reduce_asked
  AllReduceRule all_reduce = AllReduceRule::ring;  ///< of the cluster
};

/// One choice of the run changed at a time: schedule and what tunes it, how gradients are added,
/// loader threads, where pictures are normalised, when batches are copied, launches, fusion,
/// precision, batch. Those that the run has already, and those that make no sense on the machine's
/// kind of device, are left out; whether the others can be predicted shows when that is tried.
std::vector<Change> changes_of(const Machine& machine, const Run& run);

}  // namespace dlscale::model
