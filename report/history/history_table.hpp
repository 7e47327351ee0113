#pragma once
#include <span>
#include <string>

#include "regression/check/check.hpp"
#include "regression/history/listing.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// What a check of a history found, alerts first: "dlscale.history_check".
Document history_check_document(const history::CheckReport& report);

/// Series as they stand: "dlscale.history_list".
Document history_list_document(std::span<const history::ListedSeries> series);

/// A commit as git shortens it; any other text as it is.
std::string short_commit(const std::string& commit);

/// A value of a series for people: "1.5 ms", "12.3 GB/s", "+3.2 %" of a prediction over a
/// measurement.
std::string history_value(const history::SeriesKey& key, double value);

}  // namespace dlscale::report
