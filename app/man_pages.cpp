#include "app/man_pages.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <ctime>
#include <sstream>
#include <string_view>
#include <system_error>

#include "app/command_tree.hpp"
#include "app/man_text.hpp"
#include "app/output.hpp"
#include "app/topics.hpp"

namespace dlscale::app {
namespace {

std::string bold(std::string_view text) {
  return fmt::format("\\fB{}\\fR", man_text(text));
}

std::string italic(std::string_view text) {
  return fmt::format("\\fI{}\\fR", man_text(text));
}

std::string page_name(const CLI::App& command) {
  const std::string path = path_of(command);
  return path.empty() ? "dlscale" : "dlscale-" + path.substr(0, path.find(' '));
}

/// What stands for the value: the words that there are, or of which kind it is.
std::string placeholder(const CLI::Option& option) {
  if (const std::vector<std::string> choices = choices_of(option); !choices.empty()) {
    std::string words;
    for (const std::string& choice : choices) words += (words.empty() ? "" : "|") + bold(choice);
    return words;
  }
  const std::string kind = option.get_type_name();
  const std::string shown = italic(kind.substr(0, kind.find(':')));
  const bool more = takes_values(option) && option.get_delimiter() == '\0';
  return more ? shown + " ..." : shown;
}

std::string tag(const CLI::Option& option) {
  std::string names;
  for (const std::string& name : names_of(option))
    names += (names.empty() ? "" : ", ") + bold(name);
  if (names.empty()) return italic(option.get_name());
  return takes_value(option) ? names + " " + placeholder(option) : names;
}

/// Notes on an option that its help text does not hold.
std::string notes(const CLI::Option& option) {
  std::string text;
  if (option.get_required()) text += "Required. ";
  if (!option.get_default_str().empty()) {
    text += fmt::format("Default: {}. ", option.get_default_str());
  }
  if (!option.get_envname().empty()) {
    text += fmt::format("Where it is left out, {} counts. ", option.get_envname());
  }
  return text;
}

std::string with_end(std::string text) {
  const bool ended =
      text.empty() || std::string_view(".:;!?").find(text.back()) != std::string::npos;
  return ended ? text : text + ".";
}

std::string entry(const CLI::Option& option) {
  return ".TP\n" + tag(option) + "\n" +
         man_paragraph(with_end(option.get_description()) + " " + notes(option));
}

/// Groups in the order in which their first options were declared.
std::vector<std::string> groups_of(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> groups;
  for (const CLI::Option* option : options) {
    if (std::ranges::find(groups, option->get_group()) == groups.end()) {
      groups.push_back(option->get_group());
    }
  }
  return groups;
}

std::string entries(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : placed_options(command)) text += entry(*option);
  const std::vector<const CLI::Option*> options = named_options(command);
  for (const std::string& group : groups_of(options)) {
    if (group != "Options") text += fmt::format(".PP\n{}\n", bold(group));
    for (const CLI::Option* option : options) {
      if (option->get_group() == group) text += entry(*option);
    }
  }
  return text;
}

std::string synopsis(CLI::App& command) {
  const std::string path = path_of(command);
  std::string text = bold(path.empty() ? "dlscale" : "dlscale " + path);
  if (!commands_below(command).empty()) {
    return text + " " + italic(path.empty() ? "VERB" : "COMMAND") + " [" + italic("OPTION") +
           " ...]\n";
  }
  text += " [" + italic("OPTION") + " ...]";
  for (const CLI::Option* option : placed_options(command)) {
    const std::string dots = takes_values(*option) ? " ..." : "";
    const std::string place = italic(option->get_name()) + dots;
    text += option->get_required() ? " " + place : " [" + place + "]";
  }
  if (command.get_prefix_command()) text += " [" + italic("VERB") + " ...]";
  return text + "\n";
}

/// The footer of a verb's help, taken apart: examples are lines that begin with the program.
struct Footer {
  std::string text;
  std::string examples;
};

Footer read_footer(const std::string& footer) {
  constexpr std::string_view mark = "Example: ";
  Footer read;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    if (const auto start = line.find_first_not_of(' '); start != std::string::npos) {
      line.erase(0, start);
    }
    if (line.starts_with(mark)) line.erase(0, mark.size());
    (line.starts_with("dlscale ") ? read.examples : read.text) += line + "\n";
  }
  return read;
}

std::string examples(const std::string& lines) {
  return lines.empty() ? "" : ".PP\n.nf\n" + man_lines(lines) + ".fi\n";
}

/// A command below a verb, with those below it.
std::string section(CLI::App& command) {
  const Footer footer = read_footer(command.get_footer());
  std::string text = fmt::format(".SS \"dlscale {}\"\n", man_text(path_of(command)));
  text += man_paragraph(with_end(command.get_description()));
  text += ".PP\n" + synopsis(command) + entries(command);
  if (!footer.text.empty()) text += ".PP\n" + man_paragraph(footer.text);
  text += examples(footer.examples);
  for (CLI::App* below : commands_below(command)) text += section(*below);
  return text;
}

std::string heading(const std::string& name, const std::string& date) {
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  return fmt::format(".TH {} 1 {} \"dlscale {}\" \"dlscale manual\"\n.ad l\n", man_text(title),
                     date, DLSCALE_VERSION);
}

std::string name_section(const std::string& name, const std::string& doc) {
  return fmt::format(".SH NAME\n{} \\- {}\n", name, man_text(doc));
}

std::string exit_section() {
  std::string text = ".SH EXIT STATUS\n";
  for (const ExitMeaning& exit : exit_meanings()) {
    text += fmt::format(".TP\n{}\n{}", bold(fmt::to_string(static_cast<int>(exit.code))),
                        man_paragraph(exit.meaning));
  }
  return text;
}

std::string environment_section() {
  std::string text = ".SH ENVIRONMENT\n";
  for (const auto variables : {own_variables(), foreign_variables()}) {
    for (const Variable& variable : variables) {
      text += fmt::format(".TP\n{}\n{}", bold(variable.name), man_paragraph(variable.doc));
    }
  }
  return text;
}

std::string settings_section() {
  return ".SH SETTINGS\n" +
         man_paragraph(fmt::format("{} The option --rounds of dlscale gate is the variable "
                                   "DLSCALE_GATE_ROUNDS, and gate: {{rounds: 80}} in the file. "
                                   "dlscale help settings has more, and dlscale config show says "
                                   "where each value is from.",
                                   settings_rule()));
}

/// "dlscale(1), dlscale-bench(1)", but for the page itself.
std::string see_also(CLI::App& root, const std::string& own) {
  std::vector<std::string> pages{page_name(root)};
  for (const CLI::App* verb : commands_below(root)) pages.push_back(page_name(*verb));
  std::string text = ".SH SEE ALSO\n";
  std::erase(pages, own);
  for (const std::string& page : pages) {
    text += fmt::format(".BR {} (1){}\n", man_text(page), page == pages.back() ? "" : ",");
  }
  return text;
}

std::string page_of_verb(CLI::App& root, CLI::App& verb, const std::string& date) {
  const Footer footer = read_footer(verb.get_footer());
  const std::string name = page_name(verb);
  std::string text = heading(name, date) + name_section(name, verb.get_description());
  text += ".SH SYNOPSIS\n" + synopsis(verb);
  text += ".SH DESCRIPTION\n" + man_paragraph(with_end(verb.get_description()));
  if (!footer.text.empty()) text += ".PP\n" + man_paragraph(footer.text);
  text += ".SH OPTIONS\n" + entries(verb);
  if (const auto below = commands_below(verb); !below.empty()) {
    text += ".SH COMMANDS\n";
    for (CLI::App* command : below) text += section(*command);
  }
  if (!footer.examples.empty())
    text += ".SH EXAMPLES\n.nf\n" + man_lines(footer.examples) + ".fi\n";
  text += ".SH EXIT STATUS\nAs of\n.BR dlscale (1).\n";
  return text + see_also(root, name);
}

std::string page_of_program(CLI::App& root, const std::string& date) {
  const std::string name = page_name(root);
  std::string text =
      heading(name, date) +
      name_section(name, "predicts and measures how data-parallel deep-learning training scales");
  text += ".SH SYNOPSIS\n" + synopsis(root);
  text += ".SH DESCRIPTION\n" + man_paragraph(program_doc);
  text += ".PP\n" + man_paragraph(
                        "Answers go to standard output, progress and warnings to standard error. "
                        "What is wrong is told in a sentence that says what to do.");
  text += ".SH OPTIONS\n" + entries(root) + ".SH VERBS\n";
  for (const CLI::App* verb : commands_below(root)) {
    text += fmt::format(".TP\n.BR {} (1)\n{}", man_text(page_name(*verb)),
                        man_paragraph(with_end(verb->get_description())));
  }
  return text + exit_section() + settings_section() + environment_section() + see_also(root, name);
}

std::string date_of_pages() {
  std::time_t time = std::time(nullptr);
  if (const char* epoch = std::getenv("SOURCE_DATE_EPOCH"); epoch != nullptr) {
    const std::string_view text(epoch);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), time);
    if (error != std::errc() || end != text.data() + text.size() || time < 0) {
      throw ConfigError(
          fmt::format("SOURCE_DATE_EPOCH is \"{}\", which is no number of seconds since 1970. Mend "
                      "or unset it.",
                      text));
    }
  }
  return fmt::format("{:%Y-%m-%d}", fmt::gmtime(time));
}

}  // namespace

std::vector<ManPage> man_pages(const std::string& date) {
  CommandTree tree;
  tree.declare_all();
  std::vector<ManPage> pages{{"dlscale.1", page_of_program(tree.root(), date)}};
  for (CLI::App* verb : commands_below(tree.root())) {
    pages.push_back({page_name(*verb) + ".1", page_of_verb(tree.root(), *verb, date)});
  }
  return pages;
}

void write_man_pages(const std::filesystem::path& folder) {
  for (const ManPage& page : man_pages(date_of_pages())) {
    write_output((folder / page.file).string(), page.text);
  }
}

}  // namespace dlscale::app
