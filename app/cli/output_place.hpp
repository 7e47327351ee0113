#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::app {

/// The names of all formats of answers.
std::vector<std::string> format_names();

/// The destination of one output format: "junit=gate.xml", "gate.txt" or "-".
struct OutputPlace {
  std::string format;  ///< the place's own format; empty: that of --format
  std::string path;    ///< path of a file; "-": standard output
  [[nodiscard]] bool is_standard_output() const { return path == "-"; }
};

/// Reads a place. A format's name before the first "=" is its format; any other word is part of the
/// file's name ("lr=0.1.txt"), as is a format's name after a slash ("./csv=.txt"). `option` is
/// named in errors. Throws ConfigError for a format without a path. It also throws for a word that
/// is nearly a format's name, since a typing error would become a file in another format.
OutputPlace parse_place(std::string_view option, const std::string& text);

/// Whether two paths name one file, existing or not.
bool same_place(const std::filesystem::path& a, const std::filesystem::path& b);

/// Throws ConfigError if two places are one file, or if more than one is standard output.
void refuse_shared_places(std::string_view option, std::span<const OutputPlace> places);

}  // namespace dlscale::app
