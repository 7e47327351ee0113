#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace dlscale::app {

/// A page of the manual, in the macros of man(7).
struct ManPage {
  std::string file;  ///< "dlscale-predict.1"
  std::string text;
};

/// One of the program and one of each verb, from the options that they declare. `date` is that of
/// their foot, "2026-01-31".
std::vector<ManPage> man_pages(const std::string& date);

/// Writes them into a folder, with the date of SOURCE_DATE_EPOCH
/// (reproducible-builds.org/specs/source-date-epoch) or, without it, of today. Throws ConfigError
/// if one cannot be written.
void write_man_pages(const std::filesystem::path& folder);

}  // namespace dlscale::app
