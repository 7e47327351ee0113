#pragma once
#include <string>
#include <vector>

#include "core/run/run.hpp"
#include "model/sgd_iter/graph/iteration.hpp"

namespace dlscale::model {

/// Whether messages travel after the whole backward pass, or beside it, each once its gradients are
/// ready.
enum class Travel { after_backward, beside_backward };

/// What an iteration of one rank consists of besides its messages, in s, and the gradients that
/// backward leaves. The same for all numbers of ranks with as many on a node.
struct Profile {
  double load = 0;  ///< until the loader threads have read a batch
  double h2d = 0;
  double forward = 0;
  double backward = 0;
  double update = 0;
  InputCopy input_copy = InputCopy::on_path;
  std::vector<double> ready;      ///< by gradient: since the start of backward; never falls
  std::vector<double> gradients;  ///< their bytes, > 0
  /// Why no batched form holds for messages that travel beside backward, and for those that travel
  /// after it; empty where it does.
  std::string beside_absent;
  std::string after_absent;
  [[nodiscard]] const std::string& absent(Travel travel) const {
    return travel == Travel::beside_backward ? beside_absent : after_absent;
  }
};

/// Of a plan with one message a gradient (the schedules wait_free and sequential) or with none (one
/// rank). The batched form holds where closed_form() does and nothing slows computing and messages
/// down while both go on.
Profile profile_of(const IterationPlan& plan);

}  // namespace dlscale::model
