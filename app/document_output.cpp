#include "app/document_output.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "app/output.hpp"
#include "report/format/format.hpp"

namespace dlscale::app {

void DocumentOutput::declare(CLI::App& command) {
  std::string names;
  for (const auto* known : family<report::format::Format>().members) {
    names += (names.empty() ? "" : ", ") + std::string(known->name);
  }
  command.add_option("--format", format, "One of: " + names)->capture_default_str();
  command.add_option("-o,--output", path, "File to write, or - for standard output")
      ->capture_default_str();
}

void DocumentOutput::write(const report::Document& document) const {
  const auto& chosen = report::format::find_format(format);
  const bool to_terminal = path == "-";
  const report::format::Terminal terminal =
      to_terminal ? report::format::detect_terminal(STDOUT_FILENO) : report::format::Terminal{};
  write_output(path, chosen.write(document, terminal));
}

}  // namespace dlscale::app
