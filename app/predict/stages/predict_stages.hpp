#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/run/run.hpp"
#include "model/machine/machine.hpp"
#include "report/table/table.hpp"

namespace dlscale::app {

/// Whether plans cut the network by its layers, since it is not a transformer of equal decoder
/// layers.
bool is_cut_by_layers(const Network& network);

/// A question of `predict --parallel` about such a network.
struct StagesQuestion {
  std::vector<std::string> plans;  ///< as typed
  std::vector<std::string> ranks;  ///< as typed; empty: those of the plan
  std::optional<std::int64_t> global_batch = {};
  bool fits = false;       ///< asks for the verdict alone
  std::string other = {};  ///< an option that transformers alone have, if one was given
};

struct StagesAnswer {
  report::Document document;
  bool fits = false;  ///< whether each rank's memory holds its need
};

/// Answers by model::predict_stages(); `run` gives all but ranks and batch. A plan that does not
/// state data gets as many copies as the ranks allow. Throws ConfigError as that does, and for what
/// it does not answer.
StagesAnswer stages_answer(const Network& network, const model::Machine& machine, Run run,
                           const StagesQuestion& question);

}  // namespace dlscale::app
