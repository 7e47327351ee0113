#pragma once
#include "regression/check/check.hpp"
#include "regression/history/store.hpp"

namespace dlscale::app {

/// Fills in the explanations of alerts: which phases of a changed iteration changed, from one run
/// at either level. If the file of such a run is lost, the alert stays without one and the report
/// says why.
void explain_alerts(report::history::Store& store, report::history::CheckReport& report);

}  // namespace dlscale::app
