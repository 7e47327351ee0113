#include "suite/launch/job_options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <optional>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "suite/launch/batch_script.hpp"

namespace dlscale::suite {
namespace {

/// Options that dlscale sets itself and relies on.
struct Fixed {
  Scheduler scheduler;
  std::vector<std::string_view> options;
  std::string_view reason;
};
constexpr std::string_view nodes_reason =
    "the nodes of a job are those that its cells run on. Choose cells with --nodes";
constexpr std::string_view partition_reason =
    "the plan of the results names the partition. Choose it with --partition";
constexpr std::string_view log_reason =
    "the log of a job lies beside its results. Choose their folder with -o";
constexpr std::string_view copies_reason =
    "several jobs would carry out the same cells in one folder. Leave it out";
constexpr std::string_view launch_reason = "each cell says how many ranks it has. Leave it out";
constexpr std::string_view signal_reason =
    "dlscale asks for SIGTERM before the time is over, so that what was measured is kept. Leave it "
    "out";
const std::vector<Fixed>& fixed_options() {
  static const std::vector<Fixed> all{{Scheduler::slurm, {"signal"}, signal_reason},
                                      {Scheduler::slurm, {"ntasks", "n"}, launch_reason},
                                      {Scheduler::slurm, {"nodes", "N"}, nodes_reason},
                                      {Scheduler::slurm, {"partition", "p"}, partition_reason},
                                      {Scheduler::slurm, {"output", "o", "open-mode"}, log_reason},
                                      {Scheduler::slurm, {"array", "a"}, copies_reason},
                                      {Scheduler::flux, {"nodes", "N"}, nodes_reason},
                                      {Scheduler::flux, {"queue", "q"}, partition_reason},
                                      {Scheduler::flux, {"output"}, log_reason},
                                      {Scheduler::flux, {"cc", "bcc"}, copies_reason},
                                      {Scheduler::pbs, {"l select", "l nodes"}, nodes_reason},
                                      {Scheduler::pbs, {"q"}, partition_reason},
                                      {Scheduler::pbs, {"o"}, log_reason},
                                      {Scheduler::pbs, {"J"}, copies_reason}};
  return all;
}

bool is_space(char c) {
  return c == ' ' || c == '\t';
}

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t begin = line.find_first_not_of(" \t", at);
    if (begin == std::string_view::npos) break;
    const std::size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    at = end;
  }
  return words;
}

/// The options in a word such as "-HN4", where options without a value may precede another.
std::string_view letters_of(Scheduler scheduler, std::string_view word) {
  const std::string_view without_value = scheduler == Scheduler::slurm ? "HIOQVWXhksv"
                                         : scheduler == Scheduler::pbs ? "IVXfhz"
                                                                       : "hv";
  return word.substr(1, word.find_first_not_of(without_value, 1));
}

std::string_view name_in(std::string_view word) {
  return word.substr(0, word.find('='));
}

/// Adds the resources of a list such as "walltime=1,mem=2gb".
void add_resources(std::string_view list, std::set<std::string>& names) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    names.insert("l " + std::string(name_in(list.substr(0, end))));
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

[[noreturn]] void refuse(std::string_view option, std::string_view problem) {
  throw ConfigError(fmt::format("-J \"{}\": {}.", escape_for_terminal(option), problem));
}

/// The line without the scheduler's mark, if it has one.
std::string_view without_mark(Scheduler scheduler, std::string_view line) {
  const std::string_view mark = directive_mark(scheduler);
  return line.starts_with(mark) ? line.substr(mark.size()) : line;
}

/// Whether `name` means the option. Slurm and Flux accept abbreviations of long options
/// (getopt_long, argparse).
bool means(Scheduler scheduler, const std::string& name, std::string_view option) {
  const bool shortened = scheduler != Scheduler::pbs && name.size() > 1;
  return name == option || (shortened && option.starts_with(name));
}

void refuse_fixed(Scheduler scheduler, std::string_view option, std::string_view line) {
  const std::set<std::string> names = options_in(scheduler, without_mark(scheduler, line));
  for (const Fixed& fixed : fixed_options()) {
    if (fixed.scheduler != scheduler) continue;
    for (const std::string& name : names) {
      const auto is_meant = [&](std::string_view one) { return means(scheduler, name, one); };
      if (std::ranges::any_of(fixed.options, is_meant)) refuse(option, fixed.reason);
    }
  }
}

std::string long_or_short(std::string_view name, std::string_view value) {
  if (name.size() > 1) {
    return fmt::format("--{}{}{}", name, value.empty() ? "" : "=", value);
  }
  return fmt::format("-{}{}{}", name, value.empty() ? "" : " ", value);
}

std::string quoted(std::string_view option, std::string_view value) {
  if (value.empty()) return "";
  const auto word = directive_word(std::string(value));
  if (word) return *word;
  refuse(
      option,
      "its value has a backslash or both kinds of quotes, which not every scheduler reads alike. "
      "Write the option as yours does, beginning with a dash");
}

/// NAME=VALUE or NAME in the scheduler's notation.
std::string option_text(Scheduler scheduler, std::string_view option) {
  const std::string_view name = name_in(option);
  const auto is_letter = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '_' || c == '.';
  };
  if (name.empty() || !std::ranges::all_of(name, is_letter)) {
    refuse(option,
           "that is not an option. Write NAME=VALUE (time=01:00:00), NAME (exclusive), or what the "
           "scheduler reads, beginning with a dash (--account=physics)");
  }
  const bool has_value = name.size() < option.size();
  const std::string_view value = has_value ? option.substr(name.size() + 1) : std::string_view();
  if (has_value && value.empty()) refuse(option, "it has no value. Write one behind the =");
  if (scheduler != Scheduler::pbs || name.size() == 1) {
    return long_or_short(name, quoted(option, value));
  }
  if (!has_value) {
    refuse(option,
           "PBS has no options of several letters but resources, which have a value. Write one "
           "(walltime=01:00:00), or a letter (A=physics)");
  }
  return fmt::format("-l {}={}", name, quoted(option, value));
}

std::string line_of(Scheduler scheduler, const std::string& option) {
  if (std::ranges::all_of(option, is_space)) {
    throw ConfigError(
        "-J is empty, and it should name an option of the scheduler. Write one, such as "
        "time=01:00:00, or leave it out.");
  }
  if (!is_plain_line(option)) {
    refuse(option,
           "it has a line break or another control character, and becomes one line of a script. "
           "Write it on one line");
  }
  if (option.starts_with('#')) return option;
  const std::string text = option.starts_with('-') ? option : option_text(scheduler, option);
  return fmt::format("{} {}", directive_mark(scheduler), text);
}

}  // namespace

std::vector<std::string> job_option_lines(Scheduler scheduler,
                                          std::span<const std::string> options) {
  std::vector<std::string> lines;
  for (const std::string& option : options) {
    lines.push_back(line_of(scheduler, option));
    refuse_fixed(scheduler, option, lines.back());
  }
  return lines;
}

std::set<std::string> options_in(Scheduler scheduler, std::string_view line) {
  std::set<std::string> names;
  const std::vector<std::string_view> words = words_of(line);
  for (std::size_t i = 0; i < words.size(); ++i) {
    std::string_view word = words[i];
    if (word.size() < 2 || word.front() != '-') continue;
    if (word.starts_with("--")) {
      names.emplace(name_in(word.substr(2)));
    } else if (scheduler == Scheduler::pbs && word[1] == 'l') {
      const bool apart = word.size() == 2 && i + 1 < words.size();
      add_resources(apart ? words[++i] : word.substr(2), names);
    } else {
      for (const char letter : letters_of(scheduler, word)) names.emplace(1, letter);
    }
  }
  return names;
}

}  // namespace dlscale::suite
