#pragma once
#include <string>
#include <vector>

#include "report/report.hpp"
#include "report/table.hpp"

namespace dlscale::report {

/// One thing to know before the numbers of a page are believed.
struct TrustRow {
  std::string what;
  std::string verdict;  ///< "ok", "look", "bad", "not known"
  std::string seen;     ///< what the results say of it, with figures
  std::string means;    ///< what follows, or how to learn it
  Tone tone = Tone::plain;
};

// What came of the measurements themselves.
TrustRow validity_row(const ReportInput& input);
TrustRow answers_row(const ReportInput& input);
TrustRow prediction_row(const ReportInput& input);

// What the machine did meanwhile.
TrustRow canary_row(const ReportInput& input);
TrustRow disturbed_row(const ReportInput& input);
TrustRow throttling_row(const ReportInput& input);
TrustRow load_row(const ReportInput& input);

// How much numbers differ that should be the same.
TrustRow within_run_row(const ReportInput& input);
TrustRow between_runs_row(const ReportInput& input);
TrustRow neighbours_row(const ReportInput& input);
TrustRow smallest_row(const ReportInput& input);

// With what it was measured.
TrustRow build_row(const ReportInput& input);
TrustRow settings_row(const ReportInput& input);
TrustRow differences_row(const ReportInput& input);
TrustRow unknown_row(const ReportInput& input);

}  // namespace dlscale::report
