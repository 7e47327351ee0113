#pragma once
#include <span>
#include <string>
#include <string_view>

#include "model/published/cases/curve_case.hpp"
#include "model/published/cases/scaling_case.hpp"

namespace dlscale::cases {

/// Words of case files. Each function turns a word into its value; `other` is a word that is like
/// none of the known ones. A word that is nearly a known one throws ConfigError with `where` (file,
/// line and field) in front, since it is that one misspelt.
Synchronisation parse_synchronisation(std::string_view word, std::string_view where);
Overlap parse_overlap(std::string_view word, std::string_view where);
Input parse_input(std::string_view word, std::string_view where);
BufferMemory parse_buffer(std::string_view word, std::string_view where);
/// There is no other.
CurveTask parse_task(std::string_view word, std::string_view where);

/// The word among `known` that `word` was probably meant to be, empty if there is none. Short words
/// are never taken for another.
std::string_view meant_by(std::string_view word, std::span<const std::string_view> known);

}  // namespace dlscale::cases
