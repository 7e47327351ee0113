#pragma once
#include <cstddef>
#include <string>
#include <string_view>

#include "regression/history/run.hpp"

namespace dlscale::fuzz {

/// Counts the rows of the file by simple means that share nothing with its reader, and those that
/// became samples or that notes name as left out. Throws std::logic_error if these are fewer than
/// the rows that are surely there, or more than there can be.
void expect_each_row_told(const regression::history::ImportedRun& run);

/// Rows, or sides of rows, that became samples or that notes name as left out.
std::size_t rows_told(const regression::history::ImportedRun& run);

/// Lines with content. Those that begin with `comment` do not count; 0 stands for none.
std::size_t rows_in(std::string_view text, char comment = '\0');

/// Throws std::logic_error unless both are equal.
void expect_all_read(std::string_view what, std::size_t there, std::size_t read);

}  // namespace dlscale::fuzz
