#pragma once
#include <string>

#include "report/table/table.hpp"
#include "report/validation/validate.hpp"

namespace dlscale::report {

/// A validation: the verdict in a sentence, predicted against measured by run and phase, and the
/// errors by group against their limits. JSON: {"schema": "dlscale.validation", "version": 2,
/// "passed": ..., "runs": [...], "summaries": [...], "schedule_orders": [...], ...}. "verdict" is
/// "passed", "failed" or "inconclusive" (some measurements could not be judged).
Document validation_document(const Validation& validation, const Limits& limits);

/// "off by 3.1 % on 1 rank (limit 5.0 %: kept) and 12.0 % on 2 ranks (limit 10.0 %: missed), median
/// of 90 trainings.", and which of these noise may decide.
std::string errors_sentence(const Validation& validation, const Limits& limits);

/// " The limit of 0.90 is kept. 1 measurement could not be judged, …": all else that decides
/// exit_code(); empty if nothing does.
std::string further_outcomes(const Validation& validation, const Limits& limits);

/// The same as a whole sentence, what is to blame if a limit is missed, and the order of schedules.
std::string verdict_sentence(const Validation& validation, const Limits& limits);

Table runs_table(const Validation& validation);
Table phases_table(const Validation& validation);
Table errors_table(const Validation& validation, const Limits& limits);
/// The order of schedules, measured against predicted: one row for each training.
Table orders_table(const Validation& validation, const Limits& limits);

}  // namespace dlscale::report
