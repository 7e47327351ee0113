#include "app/history/history_options.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <optional>

#include "app/cli/name_pattern.hpp"
#include "app/cli/positive.hpp"
#include "core/base/error.hpp"
#include "core/text/shown_text.hpp"

namespace dlscale::app {
namespace {

std::optional<NamePattern> pattern(const std::string& text, const char* option) {
  if (text.empty()) return std::nullopt;
  return NamePattern(option, text);
}

}  // namespace

void HistoryOptions::declare_store(CLI::App& command) {
  command
      .add_option("--store", store, "Folder of the history; it may be a work tree of a git branch")
      ->type_name("FOLDER")
      ->capture_default_str()
      ->envname("DLSCALE_HISTORY");
}

void HistoryOptions::declare_selection(CLI::App& command) {
  command.add_option("--name", name, "Only series whose name this regular expression is found in");
  command.add_option("--exclude", exclude, "No series whose name this one is found in");
}

report::history::Store HistoryOptions::open() const {
  // Earlier versions used such a word for a branch; it is hardly meant as a folder.
  if (store.starts_with("git:")) {
    throw ConfigError(
        fmt::format("\"{}\" is not a folder, and a history is one. Check its branch out with git "
                    "worktree add FOLDER BRANCH, and name that folder.",
                    shown_text(store)));
  }
  return report::history::Store(store);
}

std::function<bool(const report::history::SeriesKey&)> HistoryOptions::wanted() const {
  const auto in = pattern(name, "--name");
  const auto out = pattern(exclude, "--exclude");
  if (!in && !out) return [](const report::history::SeriesKey&) { return true; };
  return [in, out](const report::history::SeriesKey& key) {
    const std::string text = key.name();
    return (!in || in->is_in(text)) && !(out && out->is_in(text));
  };
}

void HistoryRules::declare(CLI::App& command) {
  command
      .add_option("--margin", margin,
                  "Changes of the newest commit smaller than this fraction do not matter; of a "
                  "level half of it")
      ->check(margin_fraction())
      ->capture_default_str();
  command.add_flag("--sensitive", sensitive,
                   "Find smaller changes of level, and more that are none");
}

report::history::CheckRules HistoryRules::chosen() const {
  report::history::CheckRules rules;
  rules.newest.margin = margin;
  rules.changes.margin = margin / 2;
  if (sensitive) rules.changes.beta = 2;
  return rules;
}

}  // namespace dlscale::app
