#include "app/cli/format_of_file.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "app/cli/document_output.hpp"
#include "app/cli/foreign_words.hpp"
#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale::app {
namespace {

/// The format of files with an extension in lower case.
struct Extension {
  std::string_view extension;
  std::string_view format;
};

constexpr std::array extensions{Extension{".txt", "table"},     Extension{".text", "table"},
                                Extension{".log", "table"},     Extension{".out", "table"},
                                Extension{".csv", "csv"},       Extension{".json", "json"},
                                Extension{".md", "markdown"},   Extension{".markdown", "markdown"},
                                Extension{".xml", "junit"},     Extension{".prom", "openmetrics"},
                                Extension{".om", "openmetrics"}};

/// Letters, and digits behind them: "lr=0.1" and "run.2026-01-31" have no extension.
bool is_extension(std::string_view text) {
  const auto is_letter = [](char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0; };
  const auto is_sign = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
  return text.size() > 1 && is_letter(text[1]) && std::ranges::all_of(text.substr(1), is_sign);
}

}  // namespace

std::string format_of_file(std::string_view option, const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  std::ranges::transform(extension, extension.begin(),
                         [](unsigned char c) { return std::tolower(c); });
  if (!is_extension(extension)) return "table";
  const auto* const known = std::ranges::find(extensions, extension, &Extension::extension);
  if (known != extensions.end()) return std::string(known->format);
  const std::string advice = advice_on_value("--format", extension.substr(1));
  throw ConfigError(fmt::format(
      "{} {}: no format of answers ends in {}. {}Name a file that ends in {}, or write FORMAT=FILE "
      "with one of: {}.",
      option, escape_for_terminal(path), escape_for_terminal(extension),
      advice.empty() ? "" : advice + " ", ".txt, .csv, .json, .md, .xml or .prom",
      fmt::join(format_names(), ", ")));
}

}  // namespace dlscale::app
