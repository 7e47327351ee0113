#include "app/suite/definition/suite_list.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "app/suite/definition/suite.hpp"
#include "core/config/config_path.hpp"
#include "core/text/shown_text.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::app {
namespace {

bool has_all(const std::set<std::string>& tags, const std::vector<std::string>& wanted) {
  return std::ranges::all_of(wanted, [&](const std::string& tag) { return tags.contains(tag); });
}

bool is_wanted(const Suite& suite, const std::vector<std::string>& wanted) {
  return has_all(suite.tags, wanted) ||
         std::ranges::any_of(suite.cells,
                             [&](const SuiteCell& cell) { return has_all(cell.tags, wanted); });
}

/// All tags of the suite and of its cells.
std::set<std::string> all_tags(const Suite& suite) {
  std::set<std::string> tags = suite.tags;
  for (const SuiteCell& cell : suite.cells) tags.insert(cell.tags.begin(), cell.tags.end());
  return tags;
}

[[noreturn]] void refuse(const std::vector<std::string>& wanted,
                         const std::set<std::string>& known) {
  const std::vector<std::string> tags(known.begin(), known.end());
  for (const std::string& tag : wanted) {
    if (known.contains(tag)) continue;
    throw Error(ExitCode::nothing_measured, fmt::format("no suite has the tag \"{}\". {}",
                                                        shown_text(tag), suggestion(tag, tags)));
  }
  throw Error(ExitCode::nothing_measured,
              fmt::format("no suite, and no cell of one, has the tags {} together. Name fewer.",
                          fmt::join(wanted, ", ")));
}

/// Reads a suite for its names, words and tags, which do not depend on the machine.
Suite load_for_any_machine(const std::string& name) {
  return load_suite(
      name,
      {{"out", "out"}, {"data", "data"}, {"workers", "1024"}, {"cores", "1"}, {"threads", "1"}});
}

}  // namespace

ExitCode list_suites(const std::vector<std::string>& tags) {
  std::set<std::string> known;
  bool any = false;
  for (const std::string& name : config_names("suites")) {
    const Suite suite = load_for_any_machine(name);
    const std::set<std::string> own = all_tags(suite);
    known.insert(own.begin(), own.end());
    if (!is_wanted(suite, tags)) continue;
    any = true;
    fmt::print("{}: {}{}\n", name, suite.doc,
               own.empty() ? "" : fmt::format(" [{}]", fmt::join(own, ", ")));
  }
  if (!any) refuse(tags, known);
  return ExitCode::ok;
}

}  // namespace dlscale::app
