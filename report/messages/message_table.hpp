#pragma once
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "model/communication/message_judge.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What a model of messages must reach to pass.
struct MessageLimits {
  double median =
      0.08;           ///< of the absolute error, of other sizes and of more ranks of every family
  double p90 = 0.20;  ///< its 90 % quantile
};

/// Of the unseen messages of one kind of a family; nothing where there are none.
std::vector<const model::JudgedMessage*> of_kind(const model::FamilyJudgement& family,
                                                 model::Unseen unseen);

/// Errors at messages that were not fitted, by family, other sizes and more ranks apart, beside
/// those of a straight line; the parameters fitted, with their intervals and residuals; and the
/// errors one by one. JSON: {"schema": "dlscale.message_validation", "version": 1, …}.
Document message_document(const model::MessageJudgement& judgement, const MessageLimits& limits);

/// ok: every limit is kept; regression: one is missed; inconclusive: none is missed, but of some
/// unseen messages nothing could be predicted, or families were left out.
ExitCode exit_code(const model::MessageJudgement& judgement, const MessageLimits& limits);

}  // namespace dlscale::report
