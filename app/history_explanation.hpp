#pragma once
#include "report/history/check.hpp"
#include "report/history/store.hpp"

namespace dlscale::app {

/// Of iterations that changed, which phases did, by a run at either level: fills in the
/// explanations of alerts. Throws ConfigError where the history lacks a run that it names.
void explain_alerts(report::history::Store& store, report::history::CheckReport& report);

}  // namespace dlscale::app
