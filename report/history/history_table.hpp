#pragma once
#include <span>
#include <string>

#include "regression/check/check.hpp"
#include "regression/history/listing.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Findings of a check of a history, alerts first: "dlscale.history_check".
Document history_check_document(const regression::history::CheckReport& report);

/// Current state of series: "dlscale.history_list".
Document history_list_document(std::span<const regression::history::ListedSeries> series);

/// A name as people see it: of a long one the first part, and its length.
std::string shown_name(const std::string& name);
/// A commit as git abbreviates it; any other text unchanged.
std::string short_commit(const std::string& commit);

/// A value of a series for people: "1.5 ms", "12.3 GB/s", or "+3.2 %" for predicted over measured.
std::string history_value(const regression::history::SeriesKey& key, double value);

}  // namespace dlscale::report
