#pragma once
#include "regression/check/check.hpp"
#include "regression/history/store.hpp"

namespace dlscale::app {

/// Of iterations that changed, which phases did, by a run at either level: fills in the
/// explanations of alerts. Where the file of such a run was lost, the alert stands without one, and
/// the report says why.
void explain_alerts(report::history::Store& store, report::history::CheckReport& report);

}  // namespace dlscale::app
