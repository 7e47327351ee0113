#pragma once
#include <string>

#include "report/format/format.hpp"
#include "report/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --format, whose default is what `format` holds.
void declare_format(CLI::App& command, std::string& format);

/// --color: auto, always or never, whose default is what `colour` holds.
void declare_colour(CLI::App& command, std::string& colour);

/// The terminal of standard output, with colours as such a word says.
report::format::Terminal terminal_of_output(const std::string& colour);

/// --format, --color and -o, as every verb that prints an answer has them.
struct DocumentOutput {
  std::string format = "table";
  std::string path = "-";
  std::string colour = "auto";
  void declare(CLI::App& command);
  /// Throws ConfigError for an unknown format, a place that cannot be written, or a file that is
  /// there and holds anything but an earlier document of this kind.
  void write(const report::Document& document) const;
};

}  // namespace dlscale::app
