#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/communication/fit_algorithm.hpp"

namespace dlscale::model {

/// What of a family a fit has not seen: other sizes on the layouts it was fitted to, or layouts of
/// more ranks.
enum class Unseen { sizes, ranks };

/// A measured message that the fit has not seen, and what was predicted of it.
struct JudgedMessage {
  MessageSample sample;
  Unseen unseen = Unseen::sizes;
  MessagePrediction prediction;
  Seconds naive;  ///< of one straight line (straight_line())
  /// (predicted - measured) / measured.
  [[nodiscard]] double error() const { return prediction.time.value / sample.time.value - 1; }
  [[nodiscard]] double naive_error() const { return naive / sample.time.value - 1; }
};

/// Of the absolute errors of some messages.
struct MessageErrors {
  int messages = 0;
  int sizes_extrapolated = 0;  ///< of them, below or above the sizes fitted
  double bias = 0;             ///< median of the signed errors
  double median = 0;
  double p90 = 0;
  double naive_median = 0;
  double naive_p90 = 0;
};
/// Requires ≥ 1.
MessageErrors errors_of(std::span<const JudgedMessage* const> messages);

/// A family, what was fitted to a part of it, and how that did on the rest.
struct FamilyJudgement {
  MessageFamily family;
  AlgorithmFit fit;
  int most_ranks = 0;  ///< the fit has seen samples of no more
  std::vector<JudgedMessage> messages;
  int not_judged = 0;  ///< unseen messages of which the fit says nothing
};

struct MessageJudgement {
  std::vector<FamilyJudgement> families;
  std::vector<std::string> left_out;  ///< families of which too little was measured, and why
};

/// Fits each family to its samples of the training half of sizes (half_of_size(), or as its results
/// say) on `most_ranks` ranks at most, and predicts the others: the judging half of sizes on those
/// ranks, and all sizes on more. A sample that is predicted was never seen. 0: all but the largest
/// number of ranks of each family, or all if it has one. Throws ConfigError if nothing can be
/// judged.
MessageJudgement judge_messages(std::span<const MessageFamily> families, int most_ranks = 0);

}  // namespace dlscale::model
