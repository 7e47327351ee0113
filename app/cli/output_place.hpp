#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

namespace dlscale::app {

/// Where a form of an answer goes, as "junit=gate.xml", "gate.txt" or "-" name it.
struct OutputPlace {
  std::string format;  ///< of its own; empty: that of --format
  std::string path;    ///< of a file; "-": standard output
  [[nodiscard]] bool is_standard_output() const { return path == "-"; }
};

/// The name of a format before the first "=" is one; any other word there is a part of a file's
/// name ("lr=0.1.txt"), and so is a format's behind a slash ("./csv=.txt"). `option` is what it was
/// given to, for errors. Throws ConfigError for a word without a place, and for one that is
/// nearly a format's name: a slip would become a file in another format.
OutputPlace parse_place(std::string_view option, const std::string& text);

/// Whether two paths name one file, be it there or not.
bool same_place(const std::filesystem::path& a, const std::filesystem::path& b);

/// Throws ConfigError where two places are one file, or more than one is standard output.
void refuse_shared_places(std::string_view option, std::span<const OutputPlace> places);

}  // namespace dlscale::app
