#pragma once
#include <string>
#include <vector>

#include "core/run/run.hpp"
#include "model/sgd_iter/graph/iteration.hpp"

namespace dlscale::model {

/// When messages travel: after the whole backward pass, or beside it as soon as their gradients are
/// ready.
enum class Travel { after_backward, beside_backward };

/// The parts of an iteration of one rank without its messages, in s, and the gradients of its
/// backward pass. It is the same for all numbers of ranks with as many ranks on a node.
struct Profile {
  double load = 0;  ///< time in which the loader threads read a batch
  double h2d = 0;
  double forward = 0;
  double backward = 0;
  double update = 0;
  InputCopy input_copy = InputCopy::on_path;
  std::vector<double> ready;      ///< by gradient: time since the start of backward; never falls
  std::vector<double> gradients;  ///< their bytes, > 0
  /// The reasons why no batched form holds for messages beside backward, and for messages after it;
  /// empty where one holds.
  std::string beside_absent;
  std::string after_absent;
  [[nodiscard]] const std::string& absent(Travel travel) const {
    return travel == Travel::beside_backward ? beside_absent : after_absent;
  }
};

/// The profile of a plan with one message for each gradient (the schedules wait_free and
/// sequential), or with none (one rank). The batched form holds where closed_form() does and
/// computing and messages do not slow each other down.
Profile profile_of(const IterationPlan& plan);

}  // namespace dlscale::model
