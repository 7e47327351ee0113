#include "app/settings_names.hpp"

#include <CLI/CLI.hpp>
#include <cctype>
#include <string_view>

#include "app/command_tree.hpp"

namespace dlscale::app {
namespace {

/// "bench gemm" → "BENCH_GEMM".
std::string in_capitals(std::string_view words) {
  std::string name;
  for (const char c : words) {
    const bool apart = c == ' ' || c == '-';
    name += apart ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return name;
}

}  // namespace

std::vector<const CLI::Option*> settable_options(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : named_options(command)) {
    const bool is_help = option == command.get_help_ptr() || option == command.get_version_ptr();
    if (!is_help && !option->get_lnames().empty()) options.push_back(option);
  }
  return options;
}

std::string key_of(const CLI::Option& option) {
  return option.get_lnames().front();
}

std::string variable_prefix(const CLI::App& command) {
  return "DLSCALE_" + in_capitals(path_of(command)) + "_";
}

std::string variable_of(const CLI::App& command, const CLI::Option& option) {
  return variable_prefix(command) + in_capitals(key_of(option));
}

}  // namespace dlscale::app
