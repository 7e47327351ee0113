#pragma once
#include <string>
#include <vector>

#include "app/cli/output_place.hpp"
#include "report/format/format.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// Adds --format; its default is the value of `format`.
CLI::Option* declare_format(CLI::App& command, std::string& format);

/// Adds --color (auto, always or never); its default is the value of `colour`.
void declare_colour(CLI::App& command, std::string& colour);

/// The terminal of standard output; `colour` is auto, always or never.
report::format::Terminal terminal_of_output(const std::string& colour);

/// The options --format, --color and -o of every verb that prints an answer. -o may be given
/// several times, each with its own format ("junit=gate.xml"); the answer is computed once.
class DocumentOutput {
 public:
  void declare(CLI::App& command);
  /// Writes the document in every format, each file completely or not at all. Throws ConfigError
  /// before it writes anything: for an unknown format, a format that cannot hold this document, or
  /// two equal places. It also refuses an existing file that is not an earlier document of this
  /// kind, and then a place that cannot be written.
  void write(const report::Document& document) const;
  /// The single output path of an answer that has no formats. `what` describes the answer in the
  /// error for other formats: "predictions of cases are lines of JSON". Throws ConfigError.
  [[nodiscard]] std::string only_path(const std::string& what) const;

 private:
  [[nodiscard]] std::vector<OutputPlace> places() const;

  std::string format_ = "table";
  std::string colour_ = "auto";
  std::vector<std::string> texts_;  ///< the values of -o; none: standard output
  CLI::Option* format_option_ = nullptr;
};

/// The option --write FORMAT=FILE of verbs whose -o is a folder: writes what they print in further
/// formats.
class FurtherForms {
 public:
  void declare(CLI::App& command);
  [[nodiscard]] bool any() const { return !texts_.empty(); }
  /// Checks the option before the work starts. Throws ConfigError for a value that is not
  /// FORMAT=FILE, for two values with one file, and for a place that cannot be written.
  void check() const;
  /// Also refuses a format that cannot hold documents like this one, which has one row. It also
  /// refuses an existing file that is not an earlier document of this kind.
  void check(const report::Document& like) const;
  /// Writes as DocumentOutput::write() does.
  void write(const report::Document& document) const;

 private:
  [[nodiscard]] std::vector<OutputPlace> places() const;

  std::vector<std::string> texts_;
};

}  // namespace dlscale::app
