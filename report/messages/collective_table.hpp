#pragma once
#include "model/collectives/collective_question.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Times of messages alone. For people a row a number of ranks and size: the time by each
/// algorithm, the fastest of them, and of this one the interval and the bandwidths of
/// core/results/bandwidths.hpp; one line says what they rest on. Records have a row for each
/// algorithm. JSON: {"schema": "dlscale.collectives", "version": 1, "times": [...], …}. Requires
/// a time.
Document collective_document(const model::CollectiveAnswer& answer);

}  // namespace dlscale::report
