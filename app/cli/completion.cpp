#include "app/cli/completion.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cctype>
#include <filesystem>
#include <map>
#include <vector>

#include "app/cli/command_tree.hpp"
#include "core/base/error.hpp"
#include "core/config/config_path.hpp"
#include "core/text/shell_words.hpp"

namespace dlscale::app {
namespace {

using Texts = std::vector<std::string>;

/// An option, a positional option or a subcommand.
struct Entry {
  Texts names;
  std::string doc;
  bool has_value = false;
  std::string words = {};  ///< possible values, separated by spaces
  bool files = false;      ///< whether a file may be its value
};

struct Command {
  std::string path;  ///< "bench gemm"; empty: the program itself
  std::vector<Entry> below, places, options;
};

/// The first sentence of a description, on one line and without double quotes.
std::string summary(const std::string& doc) {
  std::string text = doc.substr(0, std::min(doc.find(". "), doc.find("; ")));
  return replaced(replaced(std::move(text), "\n", " "), "\"", "'");
}

/// The configurations that a kind of value names: for NETWORK those in configs/networks.
Texts configurations(std::string kind) {
  std::ranges::transform(kind, kind.begin(), [](unsigned char c) { return std::tolower(c); });
  kind += 's';
  return std::filesystem::is_directory(config_root() / kind) ? config_names(kind) : Texts{};
}

Entry entry_of(const CLI::Option& option) {
  Entry entry{names_of(option), summary(option.get_description()), takes_value(option)};
  const std::string kind = CLI::detail::split(option.get_type_name(), ':').front();
  const Texts names = configurations(kind);
  entry.words = fmt::format("{}", fmt::join(names.empty() ? choices_of(option) : names, " "));
  entry.files = !names.empty() || kind == "FILE" || kind == "FOLDER";
  return entry;
}

void add_commands(CLI::App& app, std::vector<Command>& commands) {
  Command command{path_of(app), {}, {}, {}};
  for (const CLI::App* below : commands_below(app)) {
    command.below.push_back({{below->get_name()}, summary(below->get_description())});
  }
  for (const CLI::Option* option : placed_options(app)) command.places.push_back(entry_of(*option));
  for (const CLI::Option* option : named_options(app)) command.options.push_back(entry_of(*option));
  commands.push_back(std::move(command));
  for (CLI::App* below : commands_below(app)) add_commands(*below, commands);
}

/// The script with the paths of all commands filled in; the path of a verb begins with a space.
std::string with_paths(std::string_view script, const std::vector<Command>& commands,
                       std::string_view between) {
  Texts paths;
  for (const Command& command : commands) {
    const bool is_verb = command.path.find(' ') == std::string::npos;
    if (!command.path.empty()) paths.push_back(shell_word((is_verb ? " " : "") + command.path));
  }
  const std::string all = fmt::format("{}", fmt::join(paths, between));
  return replaced(std::string(script), "@COMMANDS@", all);
}

constexpr std::string_view bash_script =
    R"(# Completion of dlscale for bash, written by the program itself.
_dlscale() {
    local word list='' typed=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
    local command='' words='' files=''
    [[ $before == = ]] && before=${COMP_WORDS[COMP_CWORD-2]}
    [[ $typed == = ]] && typed=''
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$command $word" in @COMMANDS@) command=${command:+$command }$word ;; esac
    done
    case "$command $before" in
@VALUES@    *) case $command in
@PLACES@    esac ;;
    esac
    COMPREPLY=()
    [[ $files ]] && mapfile -t COMPREPLY < <(compgen -f -- "$typed") && compopt -o filenames
    [[ $typed == *,* ]] && list=${typed%,*},
    mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -P "$list" -W "$words" -- "${typed##*,}")
}
complete -F _dlscale dlscale
)";

std::string bash_offer(const std::string& words, bool files) {
  return fmt::format("words={}{}", shell_word(words), files ? " files=1" : "");
}

std::string in_bash(const std::vector<Command>& commands) {
  std::map<std::string, Texts> values;  // offer → the options that it follows
  std::string places;
  for (const Command& command : commands) {
    std::string words;
    bool files = false;
    for (const Entry& place : command.places) {
      words += place.words + " ";
      files |= place.files;
    }
    for (const Entry& below : command.below) words += below.names.front() + " ";
    for (const Entry& option : command.options) {
      words += fmt::format("{} ", fmt::join(option.names, " "));
      if (!option.has_value) continue;
      Texts& behind = values[bash_offer(option.words, option.files)];
      for (const std::string& name : option.names) {
        behind.push_back(shell_word(command.path + " " + name));
      }
    }
    places += fmt::format("    {}) {} ;;\n", shell_word(command.path), bash_offer(words, files));
  }
  std::string cases;
  for (const auto& [offer, behind] : values) {
    cases += fmt::format("    {}) {} ;;\n", fmt::join(behind, "|"), offer);
  }
  std::string script = with_paths(bash_script, commands, "|");
  return replaced(replaced(std::move(script), "@VALUES@", cases), "@PLACES@", places);
}

constexpr std::string_view zsh_script = R"(#compdef dlscale
# Completion of dlscale for zsh, written by the program itself.
_dlscale() {
    local command='' word
    local -i at=1 last=1
    for word in "${(@)words[2,CURRENT-1]}"; do
        (( ++at ))
        case "$command $word" in (@COMMANDS@) command=${command:+$command }$word last=$at ;; esac
    done
    words=(dlscale "${(@)words[last+1,-1]}")
    (( CURRENT -= last - 1 ))
    case $command in
@PLACES@    esac
}
if [[ ${funcstack[1]-} == _dlscale ]]; then _dlscale "$@"; else compdef _dlscale dlscale; fi
)";

/// The value of an option in the syntax of _arguments. A word may follow others and a comma.
std::string zsh_value(const Entry& entry) {
  if (entry.words.empty()) return entry.files ? ":file:_files" : ":value: ";
  return fmt::format(":value:{{compset -P \"*,\"; compadd -- {}{}}}", entry.words,
                     entry.files ? "; _files" : "");
}

std::string in_zsh(const std::vector<Command>& commands) {
  const auto escaped = [](std::string text) {
    return replaced(replaced(replaced(std::move(text), "[", "\\["), "]", "\\]"), ":", "\\:");
  };
  std::string places;
  for (const Command& command : commands) {
    places += fmt::format("    ({}) _arguments", shell_word(command.path));
    const auto add = [&](const std::string& what) { places += " \\\n        " + shell_word(what); };
    for (const Entry& option : command.options) {
      const std::string value = option.has_value ? zsh_value(option) : "";
      for (const std::string& name : option.names) {
        add(fmt::format("*{}[{}]{}", name, escaped(option.doc), value));
      }
    }
    for (const Entry& place : command.places) add("*" + zsh_value(place));
    std::string below;
    for (const Entry& one : command.below) {
      below += fmt::format("{}\\:\"{}\" ", one.names.front(), escaped(one.doc));
    }
    if (!below.empty()) add(fmt::format(":command:(({}))", below));
    places += " ;;\n";
  }
  return replaced(with_paths(zsh_script, commands, "|"), "@PLACES@", places);
}

constexpr std::string_view fish_script =
    R"(# Completion of dlscale for fish, written by the program itself.
function __dlscale_at
    set -l command ''
    for word in (commandline -opc)[2..]
        contains -- "$command $word" @COMMANDS@; and set command (string trim -- "$command $word")
    end
    test "$command" = "$argv[1]"
end
complete -c dlscale -f
)";

std::string in_fish(const std::vector<Command>& commands) {
  std::string script = with_paths(fish_script, commands, " ");
  for (const Command& command : commands) {
    const std::string begin =
        fmt::format("complete -c dlscale -n '__dlscale_at \"{}\"'", command.path);
    for (const Entry& below : command.below) {
      script += fmt::format("{} -a {} -d {}\n", begin, below.names.front(), shell_word(below.doc));
    }
    for (const Entry& place : command.places) {
      script += fmt::format("{}{} -a '{}'\n", begin, place.files ? " -F" : "", place.words);
    }
    for (const Entry& option : command.options) {
      script += begin;
      for (const std::string& name : option.names) {
        const char kind = name.starts_with("--") ? 'l' : 's';
        script += fmt::format(" -{} {}", kind, name.substr(name.find_first_not_of('-')));
      }
      if (option.has_value) script += option.files ? " -r -F" : " -x";
      script += fmt::format(" -a '{}' -d {}\n", option.words, shell_word(option.doc));
    }
  }
  return script;
}

}  // namespace

std::string completion_script(std::string_view shell) {
  CommandTree tree;
  tree.declare_all();
  std::vector<Command> commands;
  add_commands(tree.root(), commands);
  if (shell == "bash") return in_bash(commands);
  if (shell == "fish") return in_fish(commands);
  if (shell == "zsh") return in_zsh(commands);
  throw ConfigError(fmt::format("\"{}\" is not a shell. Write bash, fish or zsh.", shell));
}

}  // namespace dlscale::app
