#pragma once
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class FormatterBase;
}  // namespace CLI

namespace dlscale::app {

/// Prints help in lines of at most 100 columns, with the options in groups. Options of advanced
/// groups are printed by --help-all only.
std::shared_ptr<CLI::FormatterBase> help_format();

/// A heading of a help text, and the options below it.
struct OptionGroup {
  const char* name;
  std::vector<const char*> options;
};

/// Puts options of a command below headings. The name of an advanced group begins with "Advanced".
/// Options that are not named here stay below "Options".
void group_options(CLI::App& command, std::initializer_list<OptionGroup> groups);

/// Adds --help-all to each command, from this one down, that has advanced options.
void offer_advanced_help(CLI::App& command);

}  // namespace dlscale::app
