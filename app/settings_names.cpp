#include "app/settings_names.hpp"

#include <fmt/format.h>

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

bool is_typed_only(const CLI::App& command, const CLI::Option* option) {
  return option == command.get_help_ptr() || option == command.get_version_ptr();
}

/// Of the options that have a long name those that are `wanted`.
template <class Wanted>
std::vector<const CLI::Option*> long_named(const CLI::App& command, const Wanted& wanted) {
  std::vector<const CLI::Option*> options = named_options(command);
  std::erase_if(options, [&](const CLI::Option* option) {
    return option->get_lnames().empty() || !wanted(option);
  });
  return options;
}

}  // namespace

std::vector<const CLI::Option*> settable_options(const CLI::App& command) {
  return long_named(command, [&](const CLI::Option* it) { return !is_typed_only(command, it); });
}

std::vector<const CLI::Option*> typed_only_options(const CLI::App& command) {
  return long_named(command, [&](const CLI::Option* it) { return is_typed_only(command, it); });
}

std::string key_of(const CLI::Option& option) {
  return option.get_lnames().front();
}

std::string variable_prefix(const CLI::App& command) {
  const std::string path = path_of(command);
  return path.empty() ? "DLSCALE_" : fmt::format("DLSCALE_{}_", in_capitals(path));
}

std::string variable_of(const CLI::App& command, const CLI::Option& option) {
  return variable_prefix(command) + in_capitals(key_of(option));
}

}  // namespace dlscale::app
