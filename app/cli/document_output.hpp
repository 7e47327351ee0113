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

/// --format, whose default is what `format` holds.
CLI::Option* declare_format(CLI::App& command, std::string& format);

/// --color: auto, always or never, whose default is what `colour` holds.
void declare_colour(CLI::App& command, std::string& colour);

/// The terminal of standard output, with colours as such a word says.
report::format::Terminal terminal_of_output(const std::string& colour);

/// --format, --color and -o, as every verb that prints an answer has them. -o may be given several
/// times, each with a format of its own ("junit=gate.xml"): the answer is worked out once.
class DocumentOutput {
 public:
  void declare(CLI::App& command);
  /// Writes every form, each file whole or not at all. Throws ConfigError, before anything is
  /// written, for an unknown format, one that nothing is written in, two places that are one, or a
  /// file that is there and holds anything but an earlier document of this kind; then for a place
  /// that cannot be written.
  void write(const report::Document& document) const;
  /// The one place, of an answer that has no formats; `what` it is, for the sentence that refuses
  /// others: "predictions of cases are lines of JSON". Throws ConfigError.
  [[nodiscard]] std::string only_path(const std::string& what) const;

 private:
  [[nodiscard]] std::vector<OutputPlace> places() const;

  std::string format_ = "table";
  std::string colour_ = "auto";
  std::vector<std::string> texts_;  ///< as given; none: standard output
  CLI::Option* format_option_ = nullptr;
};

/// --write FORMAT=FILE, of verbs that print an answer and whose -o is a folder: further forms of
/// what they print.
class FurtherForms {
 public:
  void declare(CLI::App& command);
  [[nodiscard]] bool any() const { return !texts_.empty(); }
  /// Before the work. Throws ConfigError for what is no format and file, two of one file, and a
  /// place that cannot be written.
  void check() const;
  /// Also for a format that documents such as this one, of a row, are not written in, and for a
  /// file that is there and holds anything but an earlier one.
  void check(const report::Document& like) const;
  /// As DocumentOutput::write().
  void write(const report::Document& document) const;

 private:
  [[nodiscard]] std::vector<OutputPlace> places() const;

  std::vector<std::string> texts_;
};

}  // namespace dlscale::app
