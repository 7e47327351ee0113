#pragma once
#include <gtest/gtest.h>

#include "core/network/network.hpp"
#include "model/calibrate/calibrate.hpp"
#include "model/sgd_iter/predict.hpp"
#include "tests/model/synthetic.hpp"

namespace dlscale::model {

using TrainingRun = dlscale::Run;  // gtest's fixtures have a Run() of their own

/// Trains the branched network on two ranks of a node of a calibrated machine, with cores enough
/// for all threads, so that closed forms hold.
class TwoRanks : public testing::Test {
 protected:
  static constexpr int batch = 8;

  TwoRanks() {
    machine_.cluster.host.cores = 64;
    run_.network = "branched";
    run_.ranks = 2;
    run_.ranks_per_node = 2;
    run_.batch = batch;
    run_.cores_per_rank = 8;
    run_.loader_threads = 4;
  }
  [[nodiscard]] Prediction one() const {
    const int ranks[] = {run_.ranks};
    return predict(network_, machine_, run_, ranks).front();
  }
  Prediction one(Schedule schedule) {
    run_.schedule = schedule;
    return one();
  }

  Network network_ = synthetic::branched();
  Machine machine_ = calibrate(synthetic::two_workers(), synthetic::results(network_, batch));
  TrainingRun run_;
};

}  // namespace dlscale::model
