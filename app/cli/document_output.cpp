#include "app/cli/document_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>

#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/system/replaceable.hpp"
#include "core/text/shown_text.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {
namespace {

/// The content for one place. All forms are made, and all places checked, before one is written.
struct Form {
  std::string path;
  std::string text;
};

Form form_of(const report::Document& document, const OutputPlace& place,
             const std::string& colour) {
  const auto& format = report::format::find_format(place.format);
  if (place.is_standard_output()) {
    return {"-", format.write(document, terminal_of_output(colour))};
  }
  refuse_foreign_file(place.path, fmt::format("a {}", report::format::kind_of(document)),
                      [&](std::istream& content) {
                        return report::format::may_replace(content, document, format);
                      });
  return {place.path, report::format::file_text(format, document)};
}

void write_places(const report::Document& document, const std::vector<OutputPlace>& places,
                  const std::string& colour) {
  std::vector<Form> forms;
  for (const OutputPlace& place : places) forms.push_back(form_of(document, place, colour));
  for (const Form& form : forms) write_output(form.path, form.text);
}

}  // namespace

CLI::Option* declare_format(CLI::App& command, std::string& format) {
  return command.add_option("--format", format, "Format of the answer")
      ->type_name(one_of(format_names()))
      ->capture_default_str();
}

void declare_colour(CLI::App& command, std::string& colour) {
  command
      .add_option("--color,--colour", colour,
                  "Colours in tables: auto, on a terminal unless NO_COLOR is set; always; or never")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

report::format::Terminal terminal_of_output(const std::string& colour) {
  using report::format::ColourChoice;
  const ColourChoice choice = colour == "always"  ? ColourChoice::always
                              : colour == "never" ? ColourChoice::never
                                                  : ColourChoice::automatic;
  return report::format::detect_terminal(STDOUT_FILENO, choice);
}

void DocumentOutput::declare(CLI::App& command) {
  format_option_ = declare_format(command, format_);
  declare_colour(command, colour_);
  command
      .add_option("-o,--output", texts_,
                  "File to write, or - for standard output; FORMAT=FILE in a format of its own, "
                  "which may be given several times")
      ->type_name("FILE")
      ->expected(1)
      ->take_all()
      ->default_str("-");
}

std::vector<OutputPlace> DocumentOutput::places() const {
  std::vector<OutputPlace> places;
  for (const std::string& text : texts_) places.push_back(parse_place("-o", text));
  if (places.empty()) places.push_back({.format = "", .path = "-"});
  refuse_shared_places("-o", places);
  const bool uses_format = std::ranges::any_of(places, &std::string::empty, &OutputPlace::format);
  if (!uses_format && format_option_ != nullptr && !format_option_->empty()) {
    throw ConfigError(
        fmt::format("--format {} would have no effect: every -o names a format of its own. Leave "
                    "it out, or add -o - to see the answer, too.",
                    shown_text(format_)));
  }
  for (OutputPlace& place : places) {
    if (place.format.empty()) place.format = format_;
  }
  return places;
}

void DocumentOutput::write(const report::Document& document) const {
  write_places(document, places(), colour_);
}

std::string DocumentOutput::only_path(const std::string& what) const {
  if (texts_.empty()) return "-";
  const OutputPlace first = parse_place("-o", texts_.front());
  if (texts_.size() == 1 && first.format.empty()) return first.path;
  throw ConfigError(
      fmt::format("{} and go to one place. Name one file with -o, without a format.", what));
}

void FurtherForms::declare(CLI::App& command) {
  command
      .add_option("--write", texts_,
                  "FORMAT=FILE: what is printed in this format, too; may be given several times. "
                  "Formats: " +
                      fmt::format("{}", fmt::join(format_names(), ", ")))
      ->type_name("FILE")
      ->expected(1)
      ->take_all();
}

std::vector<OutputPlace> FurtherForms::places() const {
  std::vector<OutputPlace> places;
  for (const std::string& text : texts_) {
    places.push_back(parse_place("--write", text));
    const OutputPlace& place = places.back();
    if (!place.format.empty() && !place.is_standard_output()) continue;
    throw ConfigError(
        place.format.empty()
            ? fmt::format(
                  "--write {} names no format. Write FORMAT=FILE, where FORMAT is one of: {}.",
                  shown_text(text), fmt::join(format_names(), ", "))
            : fmt::format("--write {} is standard output, where the answer is printed already. "
                          "Name a file, or choose the format of what is printed with --format.",
                          shown_text(text)));
  }
  refuse_shared_places("--write", places);
  return places;
}

void FurtherForms::check() const {
  for (const OutputPlace& place : places()) {
    const int problem = try_to_write(place.path);
    if (problem == 0) continue;
    throw ConfigError(fmt::format(
        "--write {}={}: it cannot be written there ({}). Name another file, or free space there.",
        place.format, shown_text(place.path), std::strerror(problem)));
  }
}

void FurtherForms::check(const report::Document& like) const {
  for (const OutputPlace& place : places()) static_cast<void>(form_of(like, place, "never"));
  check();
}

void FurtherForms::write(const report::Document& document) const {
  write_places(document, places(), "never");
}

}  // namespace dlscale::app
