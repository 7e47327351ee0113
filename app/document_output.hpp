#pragma once
#include <string>

#include "report/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// --format, whose default is what `format` holds.
void declare_format(CLI::App& command, std::string& format);

/// --format and -o, as every verb that prints an answer has them.
struct DocumentOutput {
  std::string format = "table";
  std::string path = "-";
  void declare(CLI::App& command);
  /// Throws ConfigError for an unknown format, a place that cannot be written, or a file that is
  /// there and holds anything but an earlier document of this kind.
  void write(const report::Document& document) const;
};

}  // namespace dlscale::app
