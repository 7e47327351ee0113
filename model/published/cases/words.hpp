#pragma once
#include <span>
#include <string>
#include <string_view>

#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// Parsers for the words of case files. An unknown word becomes `other`. A misspelt word, one that
/// is nearly a known one, throws ConfigError that begins with `where` (file, line and field).
Synchronisation parse_synchronisation(std::string_view word, std::string_view where);
Overlap parse_overlap(std::string_view word, std::string_view where);
Input parse_input(std::string_view word, std::string_view where);
BufferMemory parse_buffer(std::string_view word, std::string_view where);
/// Throws for every unknown word, since CurveTask has no `other`.
CurveTask parse_task(std::string_view word, std::string_view where);

/// The word among `known` of which `word` is probably a misspelling; empty if there is none. Short
/// words are never corrected.
std::string_view meant_by(std::string_view word, std::span<const std::string_view> known);

}  // namespace dlscale::cases
