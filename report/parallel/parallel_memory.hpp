#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "model/parallel/answer/compared_plans.hpp"
#include "model/parallel/answer/remedies.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// The name under which people see a kind of memory of a plan, "activations" of "backward". `kind`
/// is a name of model::memory::MemoryKind, or another one, which stays.
std::string shown_kind(std::string_view kind);

/// Changes that would make each row of plans fit, the quickest first. A row that fits has none.
using Remedies = std::vector<std::vector<model::parallel_time::Remedy>>;

/// The memory of each plan by stage and kind at the moment that needs most: of the first, the
/// fullest and the last stage, or, with `all`, of all stages at all moments. A bar shows the card,
/// and lines below it say what is least known, and what would make it fit. Records and JSON
/// ("dlscale.parallel_memory", version 1) hold every kind, stage and moment in bytes. Requires a
/// list of remedies a row.
Document parallel_memory_document(const model::parallel_time::ComparedPlans& plans,
                                  const Remedies& remedies, bool all);

/// The verdict alone, a sentence a plan, and what would make it fit ("dlscale.parallel_fit").
Document parallel_fit_document(const model::parallel_time::ComparedPlans& plans,
                               const Remedies& remedies);

}  // namespace dlscale::report
