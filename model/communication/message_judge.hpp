#pragma once
#include <span>
#include <string>
#include <vector>

#include "model/communication/fit_algorithm.hpp"

namespace dlscale::model {

/// Part of a family held out from a fit: other sizes on the fitted layouts, or layouts of more
/// ranks.
enum class HeldOut { sizes, ranks };

/// A measured message that was held out from the fit, and its prediction.
struct JudgedMessage {
  MessageSample sample;
  HeldOut unseen = HeldOut::sizes;
  MessagePrediction prediction;
  Seconds naive;  ///< time by one straight line (straight_line())
  /// (predicted - measured) / measured.
  [[nodiscard]] double error() const { return prediction.time.value / sample.time.value - 1; }
  [[nodiscard]] double naive_error() const { return naive / sample.time.value - 1; }
};

/// Absolute relative errors of some messages.
struct MessageErrors {
  int messages = 0;
  int sizes_extrapolated = 0;  ///< messages below or above the sizes fitted
  double bias = 0;             ///< median of the signed errors
  double median = 0;
  double p90 = 0;
  double naive_median = 0;
  double naive_p90 = 0;
};
/// Requires ≥ 1 message.
MessageErrors errors_of(std::span<const JudgedMessage* const> messages);

/// A family, the fit to one part of it, and its errors on the rest.
struct FamilyJudgement {
  MessageFamily family;
  AlgorithmFit fit;
  int most_ranks = 0;  ///< most ranks in the fit
  std::vector<JudgedMessage> messages;
  int not_judged = 0;  ///< held-out messages that the fit cannot predict
};

struct MessageJudgement {
  std::vector<FamilyJudgement> families;
  std::vector<std::string> left_out;  ///< families with too few measurements, and why
};

/// Fits each family to the training half of its sizes (half_of_size(), or as its results say) on at
/// most `most_ranks` ranks. It predicts the rest: the judging half of sizes on those ranks, and all
/// sizes on more. No predicted sample was in the fit. 0 means all but the largest number of ranks
/// of each family, or all if it has one. Throws ConfigError if nothing can be judged.
MessageJudgement judge_messages(std::span<const MessageFamily> families, int most_ranks = 0);

}  // namespace dlscale::model
