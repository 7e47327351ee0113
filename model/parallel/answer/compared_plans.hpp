#pragma once
#include <string>
#include <vector>

#include "model/parallel/answer/answer.hpp"

namespace dlscale::model::parallel_time {

/// A plan on its number of GPUs, and its answer.
struct AnsweredPlan {
  parallel::ParallelPlan asked;  ///< as it was asked for, with its number of replicas
  ParallelHardware hardware;     ///< links.gpus: of the plan
  Setting setting;  ///< with constants as measured points suggest them, if there are some
  ParallelAnswer answer;
};

/// Plans of one training side by side.
struct ComparedPlans {
  std::string network;
  std::string cluster;
  std::string dtype;  ///< "bf16"
  ParallelQuestion question;
  const ParallelTimeFile* file = nullptr;  ///< not null
  std::vector<AnsweredPlan> rows = {};     ///< ≥ 1: by plan in the order asked, then by GPUs
  std::vector<int> measured = {};          ///< numbers of GPUs of measured points
  std::vector<std::string> notes = {};     ///< sentences for people
};

}  // namespace dlscale::model::parallel_time
