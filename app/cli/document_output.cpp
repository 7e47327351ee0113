#include "app/cli/document_output.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/cli/format_of_file.hpp"
#include "app/cli/option_values.hpp"
#include "core/base/error.hpp"
#include "core/system/output.hpp"
#include "core/system/output_file.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/format.hpp"
#include "report/table/field_table.hpp"

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

/// The options that were given, without those of the output.
nlohmann::ordered_json given_options(const CLI::App& command) {
  auto given = nlohmann::ordered_json::object();
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    const std::string& name = option->get_lnames().front();
    if (name == "format" || name == "color" || name == "output" || name == "quiet") continue;
    nlohmann::ordered_json& values = given[name] = nlohmann::ordered_json::array();
    if (option->get_expected_max() == 0) continue;  // a flag
    const std::string delimiter(option->get_delimiter() == '\0' ? 0 : 1, option->get_delimiter());
    if (delimiter.empty()) {
      for (const std::string& value : option->results()) values.push_back(value);
    } else {
      values.push_back(fmt::format("{}", fmt::join(option->results(), delimiter)));
    }
  }
  return given;
}

/// The document whose JSON states these options.
report::Document with_options(report::Document document, const nlohmann::ordered_json& options) {
  const auto with = [options](report::Json answer) {
    answer["options"] = options;
    return answer;
  };
  const report::JsonText plain = document.json;
  document.json = report::JsonText(
      plain.schema(), [plain, with] { return report::dump(with(report::Json::parse(plain()))); },
      [plain, with] { return with(plain.summary()()); });
  return document;
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
                  "Colours in tables; auto: on a terminal, unless NO_COLOR is set")
      ->check(CLI::IsMember({"auto", "always", "never"}))
      ->capture_default_str();
}

void declare_quiet(CLI::App& command, bool& quiet) {
  command.add_flag("--quiet", quiet,
                   "Print the answer and what is wrong: no progress, no next commands");
}

void print_next(const std::vector<report::NextStep>& next, bool quiet) {
  if (quiet || next.empty()) return;
  report::Document document;
  document.next = next;
  write_output("-", "\n" + report::format::find_format("table").write(
                               document, terminal_of_output("auto")));
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
  declare_quiet(command, quiet_);
  command
      .add_option("-o,--output", texts_,
                  "File to write; FORMAT=FILE in a format of its own, repeatable")
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
                    escape_for_terminal(format_)));
  }
  const bool is_chosen = format_option_ != nullptr && !format_option_->empty();
  for (OutputPlace& place : places) {
    if (!place.format.empty()) continue;
    place.format =
        is_chosen || place.is_standard_output() ? format_ : format_of_file("-o", place.path);
  }
  return places;
}

void DocumentOutput::write(const report::Document& document) const {
  const std::vector<OutputPlace> where = places();
  report::Document answer = document;
  const bool is_read = std::ranges::any_of(where, [](const OutputPlace& place) {
    return place.format != "csv" && place.format != "json";
  });
  if (stated_ != nullptr && answer.json.summary()) {
    answer = with_options(std::move(answer), given_options(*stated_));
    if (is_read) open_(answer);
  }
  if (quiet_) {
    answer.next.clear();
    answer.curve = {};
  }
  write_places(answer, where, colour_);
}

std::string DocumentOutput::only_path(const std::string& what) const {
  if (texts_.empty()) return "-";
  const OutputPlace first = parse_place("-o", texts_.front());
  if (texts_.size() == 1 && first.format.empty()) return first.path;
  throw ConfigError(
      fmt::format("{} and go to one place. Name one file with -o, without a format.", what));
}

void FurtherForms::declare(CLI::App& command) {
  command.add_option("--write", texts_, "File for the answer in another format, repeatable")
      ->type_name("FORMAT=FILE")
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
                  escape_for_terminal(text), fmt::join(format_names(), ", "))
            : fmt::format("--write {} is standard output, where the answer is printed already. "
                          "Name a file, or choose the format of what is printed with --format.",
                          escape_for_terminal(text)));
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
        place.format, escape_for_terminal(place.path), std::strerror(problem)));
  }
}

void FurtherForms::check(const report::Document& like) const {
  for (const OutputPlace& place : places()) static_cast<void>(form_of(like, place, "never"));
  check();
}

void FurtherForms::write(const report::Document& document) const {
  write_places(document, places(), "never");
}

namespace {

namespace fs = std::filesystem;

/// Whether `word` is probably a misspelt `name`.
bool is_nearly(std::string_view word, const std::string& name) {
  return edit_distance(word, name) <= (name.size() > 4 ? 2 : 1);
}

std::string place_text(const OutputPlace& place) {
  return place.is_standard_output() ? "standard output" : place.path;
}

}  // namespace

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const auto* format : family<report::format::Format>().members) {
    names.emplace_back(format->name);
  }
  return names;
}

OutputPlace parse_place(std::string_view option, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos) return {.format = "", .path = text.empty() ? "-" : text};
  const std::string word = text.substr(0, equals);
  const std::vector<std::string> names = format_names();
  if (std::ranges::find(names, word) == names.end()) {
    const std::vector<std::string> nearest = nearest_first(word, names);
    if (nearest.empty() || !is_nearly(word, nearest.front())) {
      if (equals + 1 < text.size()) return {.format = "", .path = text};
      throw ConfigError(fmt::format(
          "{0} {1}: \"{2}\" is not a format, and no file stands behind the =. Write "
          "FORMAT=FILE, or ./{1} for a file of that name. Formats: {3}.",
          option, escape_for_terminal(text), escape_for_terminal(word), fmt::join(names, ", ")));
    }
    throw ConfigError(fmt::format(
        "{0} {1}: \"{2}\" is not a format, and nearly the name of one. Write {3}={4}, or ./{1} for "
        "a file of that name. Formats: {5}.",
        option, escape_for_terminal(text), escape_for_terminal(word), nearest.front(),
        escape_for_terminal(text.substr(equals + 1)), fmt::join(names, ", ")));
  }
  const std::string path = text.substr(equals + 1);
  if (!path.empty()) return {.format = word, .path = path};
  throw ConfigError(fmt::format(
      "{0} {1} names a format and no file. Write a file or - behind the =, or ./{1} for a file of "
      "that name.",
      option, escape_for_terminal(text)));
}

bool same_place(const fs::path& a, const fs::path& b) {
  std::error_code error;
  if (fs::exists(a, error) && fs::exists(b, error)) return fs::equivalent(a, b, error);
  return fs::weakly_canonical(fs::absolute(a, error), error) ==
         fs::weakly_canonical(fs::absolute(b, error), error);
}

void refuse_shared_places(std::string_view option, std::span<const OutputPlace> places) {
  for (std::size_t i = 0; i < places.size(); ++i) {
    for (std::size_t j = i + 1; j < places.size(); ++j) {
      const bool both = places[i].is_standard_output() && places[j].is_standard_output();
      const bool neither = !places[i].is_standard_output() && !places[j].is_standard_output();
      if (!both && !(neither && same_place(places[i].path, places[j].path))) continue;
      throw ConfigError(
          fmt::format("{0} names {1} twice, so that one form of the answer would overwrite or "
                      "follow the other. Name another file.",
                      option, escape_for_terminal(place_text(places[j]))));
    }
  }
}

}  // namespace dlscale::app
