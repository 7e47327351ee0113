#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/options/measured_option.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// A question of `predict --parallel` about a network that plans cut by its layers, since it is not
/// a decoder of equal layers.
struct StagesQuestion {
  std::vector<std::string> plans;  ///< as typed
  std::vector<std::string> ranks;  ///< as typed; may be empty
  std::optional<std::int64_t> global_batch = {};
  bool is_dtype_stated = true;
  const MeasuredOption* measured = nullptr;  ///< not null
  int cores_per_rank = 0;                    ///< on processors; 0: not stated, a rank is one
  bool fits = false;                         ///< asks for the verdict alone
  bool memory = false;
  bool explain = false;
  bool notes = false;
  std::string trace = {};                 ///< a file for a time line; empty: none
  std::string tokens = {};                ///< as typed, refused; empty: not given
  std::vector<std::string> assumed = {};  ///< sentences on the machine, which become notes
};

struct StagesAnswer {
  report::Document document;
  bool fits = false;  ///< whether every plan can run, and each rank's memory holds its need
};

/// Answers by model::predict_stages(), a row for each plan and number of ranks; `run` gives all but
/// ranks and batch. A plan that does not state data gets as many copies as the ranks allow. One
/// that cannot run is left out with a note, unless it is the only one. Writes the time line, if one
/// is asked for. Throws ConfigError as predict_stages() does, and for what it does not answer.
StagesAnswer stages_answer(const Network& network, const model::Machine& machine, Run run,
                           const StagesQuestion& question);

}  // namespace dlscale::app
