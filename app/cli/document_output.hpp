#pragma once
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "report/format/format.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

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

/// Adds --format; its default is the value of `format`.
CLI::Option* declare_format(CLI::App& command, std::string& format);

/// Adds --color (auto, always or never); its default is the value of `colour`.
void declare_colour(CLI::App& command, std::string& colour);

/// Adds --quiet, which every verb understands alike: the answer, warnings and errors stay;
/// progress, curves and next commands go.
void declare_quiet(CLI::App& command, bool& quiet);

/// Prints next commands on standard output, as answers end with them: for verbs whose output has no
/// format. `quiet` is their --quiet.
void print_next(const std::vector<report::NextStep>& next, bool quiet);

/// The terminal of standard output; `colour` is auto, always or never.
report::format::Terminal terminal_of_output(const std::string& colour);

/// The options --format, --color, --quiet and -o of every verb that prints an answer. -o may be
/// given several times, each with its own format ("junit=gate.xml"); the answer is computed once.
class DocumentOutput {
 public:
  void declare(CLI::App& command);
  /// Makes answers in JSON state the options of `command` that were given, under "options": their
  /// names without dashes, with the values as typed. Those of the output are left out. `open` adds
  /// the verdict and the next commands of an answer that states them, for people.
  void state_options(const CLI::App& command, void (*open)(report::Document& answer)) {
    stated_ = &command;
    open_ = open;
  }
  /// Writes the document in every format, each file completely or not at all. Throws ConfigError
  /// before it writes anything: for an unknown format, a format that cannot hold this document, or
  /// two equal places. It also refuses an existing file that is not an earlier document of this
  /// kind, and then a place that cannot be written.
  void write(const report::Document& document) const;
  [[nodiscard]] bool is_quiet() const { return quiet_; }
  /// The single output path of an answer that has no formats. `what` describes the answer in the
  /// error for other formats: "predictions of cases are lines of JSON". Throws ConfigError.
  [[nodiscard]] std::string only_path(const std::string& what) const;

 private:
  [[nodiscard]] std::vector<OutputPlace> places() const;

  std::string format_ = "table";
  std::string colour_ = "auto";
  bool quiet_ = false;
  std::vector<std::string> texts_;  ///< the values of -o; none: standard output
  CLI::Option* format_option_ = nullptr;
  const CLI::App* stated_ = nullptr;  ///< whose options the JSON states
  void (*open_)(report::Document& answer) = nullptr;
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
