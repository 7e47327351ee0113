#include "app/document_output.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/output.hpp"
#include "core/replaceable.hpp"
#include "report/format/file_kind.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {

void declare_format(CLI::App& command, std::string& format) {
  std::string names;
  for (const auto* known : family<report::format::Format>().members) {
    names += (names.empty() ? "" : ", ") + std::string(known->name);
  }
  command.add_option("--format", format, "One of: " + names)->capture_default_str();
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
  declare_format(command, format);
  declare_colour(command, colour);
  command.add_option("-o,--output", path, "File to write, or - for standard output")
      ->capture_default_str();
}

void DocumentOutput::write(const report::Document& document) const {
  const auto& chosen = report::format::find_format(format);
  const bool to_standard_output = path.empty() || path == "-";
  if (to_standard_output) {
    write_output(path, chosen.write(document, terminal_of_output(colour)));
    return;
  }
  refuse_foreign_file(
      path, fmt::format("a {}", report::format::kind_of(document)),
      [&](std::istream& content) { return report::format::is_of_kind(content, document); });
  write_output(path, report::format::file_text(chosen, document));
}

}  // namespace dlscale::app
