#pragma once
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "model/communication/message_judge.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Limits that a model of messages must meet.
struct MessageLimits {
  /// Median absolute error, for other sizes and for more ranks of every family.
  double median = 0.08;
  double p90 = 0.20;  ///< 90 % quantile of the same error
};

/// The unseen messages of one kind of a family; empty if there are none.
std::vector<const model::JudgedMessage*> of_kind(const model::FamilyJudgement& family,
                                                 model::HeldOut unseen);

/// Errors at messages that were not fitted, by family, separately for other sizes and more ranks.
/// Compares them with those of a straight line. Also lists the fitted parameters with intervals and
/// residuals, and all errors. JSON: {"schema": "dlscale.message_validation", "version": 1, …}.
Document message_document(const model::MessageJudgement& judgement, const MessageLimits& limits);

/// ok if every limit is met; regression if one is missed. Inconclusive if none is missed, but some
/// unseen messages could not be predicted or families were left out.
ExitCode exit_code(const model::MessageJudgement& judgement, const MessageLimits& limits);

}  // namespace dlscale::report
