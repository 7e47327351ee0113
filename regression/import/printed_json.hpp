#pragma once
#include <exception>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::regression::history {

/// Rewrites JSON as the versions of Google Benchmark print it into strict JSON:
/// - null replaces numbers that JSON or a double lacks, such as NaN, inf, 1.#INF and 1e999;
/// - a percentage, "rms": 12%, loses its sign (google/benchmark issue 300);
/// - strings get the escapes of quotes, backslashes and control characters that they lack (issues
///   745 and 2299), and \xe9 for a byte that is not UTF-8;
/// - a comma that is missing at the end of a line is added (issue 1181);
/// - a user counter called like a key of its row gets another name, since a parser keeps only the
///   last of two equal keys.
/// Other JSON and all line numbers stay as they are. What follows the outermost value is left out.
/// Throws ConfigError with the line for a number with separators of a locale, such as 100,5.
std::string strict_json(std::string_view text);

/// A document that a program printed, perhaps between other text.
struct PrintedJson {
  std::string text;                ///< strict, with the line numbers of the file
  std::vector<std::string> notes;  ///< on what was left aside or changed
};

/// Throws ConfigError with the line if another document or a part of one follows.
PrintedJson printed_json(std::string_view content);

/// As json_problem(); quotes other text in the JSON.
std::string printed_problem(const std::exception& error, const PrintedJson& json);

}  // namespace dlscale::regression::history
