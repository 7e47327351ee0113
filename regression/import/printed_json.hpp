#pragma once
#include <exception>
#include <optional>
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

/// The text of a log that has a line of JSON for each line: "log" of Docker and Kubernetes, MESSAGE
/// of journald, textPayload of Google Cloud, "message". Labels name the containers where the
/// entries do. Empty if the first line is not such an entry.
std::string text_of_json_log(std::string_view content);

/// A document that a program printed, perhaps between other text.
struct PrintedJson {
  std::string text;                ///< strict, with the line numbers of the file
  std::vector<std::string> notes;  ///< on what was left aside or changed
};

/// Throws ConfigError with the line if another document or a part of one follows.
PrintedJson printed_json(std::string_view content);

/// As json_problem(); quotes other text in the JSON.
std::string printed_problem(const std::exception& error, const PrintedJson& json);

/// The digits that a file prints numbers of one kind with: all of its numbers count, since some
/// programs leave out zeros at the end.
class PrintedDigits {
 public:
  /// Adds the numbers with this key, in strict JSON.
  void add(std::string_view strict_json, std::string_view key);
  /// Half the unit of the last digit of such a number; 0 if it is below a millionth of the number.
  [[nodiscard]] double half_unit(double value) const;

 private:
  void add_number(std::string_view word);

  std::optional<int> decimals_;     ///< the most behind the point, of numbers without an exponent
  std::optional<int> significant_;  ///< the most digits of a number with one
};

}  // namespace dlscale::regression::history
