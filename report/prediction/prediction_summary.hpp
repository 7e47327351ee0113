#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/sgd_iter/predict.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The words of a table for people that predictions do not hold.
struct PredictionWords {
  std::string workers = "ranks";        ///< "GPUs"
  std::string rests_on;                 ///< "data sheets and 281 published trainings on one GPU"
  std::string more;                     ///< a line of options that say more
  std::vector<std::string> hints = {};  ///< sentences on unusual choices
};

/// prediction_document() with a short table for people: samples a second, in all and of a worker,
/// speed-up with its interval, the iteration and its parts, and the bottleneck. The parts add up:
/// computing with the update, exposed communication, and input with its copy. Lines below it say
/// what is missing, what no published training was like, what the answer rests on, with the widest
/// interval, and what makes it sharper. The curve is the speed-up of a single training.
Document prediction_summary(std::span<const model::Prediction> predictions,
                            const PredictionWords& words);

/// The same with all phases of the iterations, their intervals and all notes.
Document prediction_details(std::span<const model::Prediction> predictions,
                            const PredictionWords& words);

}  // namespace dlscale::report
