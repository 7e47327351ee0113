#pragma once
#include <string_view>

#include "model/published/memory/memory_case.hpp"

namespace dlscale::model::memory::test {

/// Trainings by nanotron on H100 (tests/data/memory_nanotron_h100.csv) of one network, or of all
/// if `network` is empty, with what was measured.
MemoryCaseFile nanotron_rows(std::string_view network);

/// Trainings of tests/data/memory_misc.jsonl of one set.
MemoryCaseFile misc_rows(std::string_view set);

}  // namespace dlscale::model::memory::test
