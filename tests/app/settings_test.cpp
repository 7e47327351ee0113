#include "app/settings_line.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "app/command_tree.hpp"
#include "app/command_walk.hpp"
#include "app/settings_file.hpp"
#include "app/settings_in_effect.hpp"
#include "app/settings_names.hpp"
#include "app/topics.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using Words = std::vector<std::string>;
using Variables = std::map<std::string, std::string>;

CommandTree& whole_tree() {
  static CommandTree tree;
  tree.declare_all();
  return tree;
}

/// Of the program, all that have options or commands below them.
std::vector<CLI::App*> all_commands(CLI::App& from = whole_tree().root()) {
  std::vector<CLI::App*> all;
  for (CLI::App* command : commands_below(from)) {
    all.push_back(command);
    std::ranges::copy(all_commands(*command), std::back_inserter(all));
  }
  return all;
}

Words words_of(const CLI::App& command) {
  return CLI::detail::split(path_of(command), ' ');
}

SettledLine settle(const Words& words, const Variables& variables,
                   const std::filesystem::path& file = {}) {
  const auto declare = [](CLI::App& verb) { whole_tree().declare(verb); };
  const auto variable = [&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
  SettingsSources sources{variable, find_settings(variable)};
  if (!file.empty()) sources.place.file = file;
  return settle_line(whole_tree().root(), declare, words, sources);
}

/// A file that is gone with the object.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              fmt::format("dlscale-settings-{}.yaml", ::getpid())) {
    std::ofstream(path_) << text;
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

TEST(NamesOfSettings, AreOfOneOptionEach) {
  std::map<std::string, std::string> options;
  for (const Variable& variable : own_variables()) options[std::string(variable.name)] = "its own";
  for (const CLI::App* command : all_commands()) {
    for (const CLI::Option* option : settable_options(*command)) {
      const std::string name = variable_of(*command, *option);
      const std::string mine = path_of(*command) + " " + option->get_name();
      EXPECT_TRUE(options.emplace(name, mine).second) << mine << " and " << options[name];
      EXPECT_EQ(name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"), std::string::npos)
          << name;
    }
  }
  EXPECT_GT(options.size(), 300U);
  ASSERT_EQ(typed_only_options(whole_tree().root()).size(), 2U);
  for (const CLI::Option* option : typed_only_options(whole_tree().root())) {
    EXPECT_FALSE(options.contains(variable_of(whole_tree().root(), *option)));
  }
  EXPECT_EQ(options.at("DLSCALE_GATE_ROUNDS"), "gate --rounds");
  EXPECT_EQ(options.at("DLSCALE_BENCH_GEMM_SAMPLES"), "bench gemm --samples");
}

TEST(NamesOfSettings, AreThereForEveryOptionThatHelpShows) {
  for (const CLI::App* command : all_commands()) {
    for (const CLI::Option* option : named_options(*command)) {
      if (option == command->get_help_ptr()) continue;
      EXPECT_FALSE(option->get_lnames().empty()) << path_of(*command) << option->get_name();
    }
  }
}

TEST(NamesOfSettings, TellOptionsFromCommands) {
  for (CLI::App* command : all_commands()) {
    std::set<std::string> keys;
    for (const CLI::App* below : commands_below(*command)) keys.insert(below->get_name());
    for (const CLI::Option* option : settable_options(*command)) {
      EXPECT_TRUE(keys.insert(key_of(*option)).second) << path_of(*command) << key_of(*option);
    }
  }
}

TEST(Settings, OfEveryOptionAreAsIfItWereTyped) {
  for (const CLI::App* command : all_commands()) {
    for (const CLI::Option* option : settable_options(*command)) {
      const std::string name = variable_of(*command, *option);
      const SettledLine line = settle(words_of(*command), {{name, "1"}});
      ASSERT_EQ(line.set.size(), 1U) << name;
      EXPECT_EQ(line.set.front().place, name);
      Words typed = words_of(*command);
      if (line.set.front().obstacle.empty()) {
        typed.push_back(option->get_name() + (takes_value(*option) ? "=1" : ""));
      } else {
        EXPECT_THAT(line.set.front().obstacle, HasSubstr("goes only with")) << name;
      }
      EXPECT_EQ(line.words, typed);
    }
  }
}

TEST(Settings, OfEveryOptionStandInOneFile) {
  std::string text;
  const std::function<void(CLI::App&, const std::string&)> write = [&](CLI::App& command,
                                                                       const std::string& indent) {
    for (const CLI::Option* option : settable_options(command)) {
      text +=
          fmt::format("{}{}: {}\n", indent, key_of(*option), takes_value(*option) ? "7" : "true");
    }
    for (CLI::App* below : commands_below(command)) {
      text += fmt::format("{}{}: {{", indent, below->get_name());
      if (!settable_options(*below).empty() || !commands_below(*below).empty()) {
        text.pop_back();
        text += "\n";
        write(*below, indent + "  ");
      } else {
        text += "}\n";
      }
    }
  };
  write(whole_tree().root(), "");
  const TemporaryFile file(text);
  SettingsFile(file.path()).check(whole_tree().root());
  for (const CLI::App* command : all_commands()) {
    const SettledLine line = settle(words_of(*command), {}, file.path());
    EXPECT_EQ(line.set.size(), settable_options(*command).size()) << path_of(*command);
    for (const SetElsewhere& set : line.set) {
      EXPECT_EQ(set.value, takes_value(*set.option) ? "7" : "yes") << set.name;
      EXPECT_THAT(set.place, HasSubstr(file.path().string() + ":"));
    }
  }
}

TEST(Settings, GiveWayToWhatIsTyped) {
  const Variables rounds{{"DLSCALE_GATE_ROUNDS", "80"}};
  for (const Words& words : {Words{"gate", "--rounds", "9"}, Words{"gate", "--rounds=9"},
                             Words{"gate", "--base", "--rounds", "--rounds", "9"}}) {
    EXPECT_EQ(settle(words, rounds).words, words);
  }
  const Words out{"gate", "-oplace"};
  EXPECT_EQ(settle(out, {{"DLSCALE_GATE_OUTPUT", "else"}}).words, out);
  const Words colour{"noise", "--colour", "never"};
  EXPECT_EQ(settle(colour, {{"DLSCALE_NOISE_COLOR", "always"}}).words, colour);
}

TEST(Settings, AreNotTakenFromTheWordsOfAnotherCommandLine) {
  const Variables rounds{{"DLSCALE_GATE_ROUNDS", "80"}};
  EXPECT_EQ(settle({"gate", "--base-build", "a", "--", "bench", "--rounds", "3"}, rounds).words,
            (Words{"gate", "--rounds=80", "--base-build", "a", "--", "bench", "--rounds", "3"}));
  EXPECT_EQ(settle({"gate", "--base", "--rounds"}, rounds).words,
            (Words{"gate", "--rounds=80", "--base", "--rounds"}));
  EXPECT_EQ(settle({"config", "show", "gate", "--format", "x"},
                   {{"DLSCALE_CONFIG_SHOW_FORMAT", "json"}, {"DLSCALE_GATE_FORMAT", "csv"}})
                .words,
            (Words{"config", "show", "--format=json", "gate", "--format", "x"}));
}

TEST(Settings, StandWhereNoOptionTakesWordsOfPlacesForItsOwn) {
  const Variables ranks{{"DLSCALE_REPORT_RANKS", "1,2"}};
  EXPECT_EQ(settle({"report", "a", "b"}, ranks).words, (Words{"report", "a", "b", "--ranks=1,2"}));
  EXPECT_EQ(settle({"report", "a", "--format", "csv"}, ranks).words,
            (Words{"report", "a", "--ranks=1,2", "--format", "csv"}));
  // The library of options drops the -- that ends a list.
  EXPECT_EQ(settle({"report", "--", "-a"}, ranks).words,
            (Words{"report", "--ranks=1,2", "--", "--", "-a"}));
}

TEST(Settings, LeaveOutWhatTheLineExcludes) {
  const SettledLine line =
      settle({"predict", "--global-batch", "256"}, {{"DLSCALE_PREDICT_BATCH", "32"}});
  EXPECT_EQ(line.words, (Words{"predict", "--global-batch", "256"}));
  ASSERT_EQ(line.set.size(), 1U);
  EXPECT_EQ(line.set.front().obstacle, "does not go with --global-batch");
  for (const CLI::App* command : all_commands()) {
    for (const CLI::Option* option : settable_options(*command)) {
      for (const CLI::Option* other : option->get_excludes()) {
        Words words = words_of(*command);
        words.push_back(other->get_name() + (takes_value(*other) ? "=1" : ""));
        const SettledLine without = settle(words, {{variable_of(*command, *option), "1"}});
        ASSERT_EQ(without.set.size(), 1U);
        EXPECT_FALSE(without.set.front().obstacle.empty())
            << fmt::format("{}", fmt::join(words, " "));
        EXPECT_EQ(without.words, words);
      }
    }
  }
}

TEST(Settings, LeaveOutWhatHasNoEffectBesideWhatIsTyped) {
  const SettledLine suite =
      settle({"bench", "conv", "--suite", "x"},
             {{"DLSCALE_BENCH_CONV_SAMPLES", "5"}, {"DLSCALE_BENCH_CONV_CLUSTER", "p40x16"}});
  EXPECT_EQ(suite.words, (Words{"bench", "conv", "--cluster=p40x16", "--suite", "x"}));
  EXPECT_EQ(settle({"bench", "conv", "--samples", "5"}, {{"DLSCALE_BENCH_CONV_SUITE", "x"}}).words,
            (Words{"bench", "conv", "--samples", "5"}));
  const Variables format{{"DLSCALE_COMPARE_FORMAT", "csv"}};
  EXPECT_EQ(settle({"compare", "a", "b", "-o", "junit=x"}, format).words.size(), 5U);
  EXPECT_EQ(settle({"compare", "a", "b", "-o", "x"}, format).words.size(), 6U);
}

TEST(Settings, LeaveOutWhatGoesOnlyWithWhatIsNotThere) {
  const Variables margin{{"DLSCALE_REPORT_MARGIN", "0.02"}};
  EXPECT_EQ(settle({"report", "x"}, margin).words, (Words{"report", "x"}));
  EXPECT_EQ(settle({"report", "x", "--history", "h"}, margin).words,
            (Words{"report", "x", "--margin=0.02", "--history", "h"}));
  Variables both = margin;
  both["DLSCALE_REPORT_HISTORY"] = "h";
  EXPECT_EQ(settle({"report"}, both).words, (Words{"report", "--history=h", "--margin=0.02"}));
}

TEST(Settings, ThatAreLeftOutExcludeNothing) {
  const TemporaryFile file("predict: {cluster: p40x16}\ncompare: {format: csv}\n");
  Variables variables{{"DLSCALE_PREDICT_MESSAGE_TIMES", "m.csv"}};
  SettledLine line = settle({"predict"}, variables, file.path());
  EXPECT_EQ(line.words, (Words{"predict", "--cluster=p40x16"}));
  EXPECT_EQ(line.set.front().obstacle, "goes only with --layer-times");
  variables["DLSCALE_PREDICT_LAYER_TIMES"] = "l.csv";
  const Words typed{"predict", "--batch=1", "--ranks=2"};
  line = settle(typed, variables, file.path());
  EXPECT_EQ(line.words.size(), typed.size() + 2);
  EXPECT_EQ(line.set.back().obstacle, "does not go with --message-times");
  EXPECT_EQ(settle({"predict", "--ranks=2"}, variables, file.path()).words,
            (Words{"predict", "--cluster=p40x16", "--ranks=2"}))
      << "--layer-times lacks --batch, --message-times it";
  const Variables places{{"DLSCALE_COMPARE_OUTPUT", "junit=x\ncsv=y"}};
  EXPECT_EQ(settle({"compare"}, places, file.path()).words,
            (Words{"compare", "--output=junit=x", "--output=csv=y"}));
  EXPECT_EQ(settle({"compare", "-o", "z"}, places, file.path()).words,
            (Words{"compare", "--format=csv", "-o", "z"}));
}

/// Of a command those that exclude or need others, and those others.
std::vector<const CLI::Option*> bound_options(const CLI::App& command) {
  std::set<const CLI::Option*> bound;
  for (const CLI::Option* option : settable_options(command)) {
    for (const auto& others : {option->get_excludes(), option->get_needs()}) {
      if (!others.empty()) bound.insert(option);
      bound.insert(others.begin(), others.end());
    }
  }
  std::vector<const CLI::Option*> all = settable_options(command);
  std::erase_if(all, [&](const auto* it) {
    return !bound.contains(it) || it->get_name() == "--format" || it->get_name() == "--output";
  });
  return all;
}

void expect_stable(const SettledLine& line, const std::set<const CLI::Option*>& typed) {
  using From = SetElsewhere::From;
  std::set<const CLI::Option*> there = typed;
  std::set<const CLI::Option*> nearer = typed;
  for (const SetElsewhere& set : line.set) {
    if (!set.obstacle.empty()) continue;
    there.insert(set.option);
    if (set.from == From::environment) nearer.insert(set.option);
  }
  for (const SetElsewhere& set : line.set) {
    const auto& before = set.from == From::file ? nearer : typed;
    const bool is_excluded = std::ranges::any_of(
        set.option->get_excludes(), [&](const auto* it) { return before.contains(it); });
    const bool is_needy = std::ranges::any_of(set.option->get_needs(),
                                              [&](const auto* it) { return !there.contains(it); });
    EXPECT_EQ(!set.obstacle.empty(), is_excluded || is_needy) << fmt::format(
        "{}: {} by {}: {}", fmt::join(line.words, " "), set.name, set.place, set.obstacle);
  }
}

TEST(Settings, AreHeldAgainstWhatIsInEffectInTheEnd) {
  std::mt19937 random(3);
  std::size_t left_out = 0;
  for (const CLI::App* command : all_commands()) {
    const auto options = bound_options(*command);
    if (options.empty() || path_of(*command).starts_with("bench ")) continue;
    for (int round = 0; round < 30; ++round) {
      Words words = words_of(*command);
      std::set<const CLI::Option*> typed;
      Variables variables;
      std::string keys;
      for (const CLI::Option* option : options) {
        const auto place = random() % 5;
        if (place == 0) {
          words.push_back(option->get_name() + (takes_value(*option) ? "=1" : ""));
          typed.insert(option);
        } else if (place == 1) {
          variables[variable_of(*command, *option)] = "1";
        } else if (place == 2) {
          keys += fmt::format("{}: {}, ", key_of(*option), takes_value(*option) ? "1" : "true");
        }
      }
      std::string section = fmt::format("{{{}}}", keys);
      const Words path = words_of(*command);
      for (auto word = path.rbegin(); word != path.rend(); ++word) {
        section = fmt::format("{{{}: {}}}", *word, section);
      }
      const TemporaryFile file(section);
      const SettledLine line = settle(words, variables, file.path());
      expect_stable(line, typed);
      left_out += static_cast<std::size_t>(
          std::ranges::count_if(line.set, [](const auto& it) { return !it.obstacle.empty(); }));
    }
  }
  EXPECT_GT(left_out, 100U);
}

TEST(Settings, OfAFileOrACommandWithNothingThereAreNone) {
  for (const char* text : {"", "\n", "# gate: {rounds: 80}\n", "---\n...\n", "gate:\n",
                           "gate:\n  # rounds: 80\n", "gate: ~\n", "bench:\n  gemm:\n"}) {
    const TemporaryFile file(text);
    for (const Words& words : {Words{"gate"}, Words{"bench", "gemm"}}) {
      EXPECT_EQ(settle(words, {}, file.path()).words, words) << text;
    }
    SettingsFile(file.path()).check(whole_tree().root());
  }
}

TEST(Settings, ComeFromTheEnvironmentBeforeTheFile) {
  const TemporaryFile file(
      "gate:\n  rounds: 80\n  canary: true\n  margin: 0.02\nhistory: {list: {store: mine}}\n");
  const SettledLine line = settle(
      {"gate"},
      {{"DLSCALE_GATE_ROUNDS", "60"}, {"DLSCALE_GATE_CANARY", "no"}, {"DLSCALE_GATE_MARGIN", ""}},
      file.path());
  EXPECT_EQ(line.words, (Words{"gate", "--rounds=60", "--margin=0.02"}));
  std::map<std::string, std::string> places;
  for (const SetElsewhere& set : line.set) places[set.name] = set.place;
  EXPECT_EQ(places["--canary"], "DLSCALE_GATE_CANARY");
  EXPECT_EQ(places["--margin"], file.path().string() + ":4");
  // An option's own variable comes before the one that several commands read.
  Variables store{{"DLSCALE_HISTORY", "ours"}};
  EXPECT_EQ(settle({"history", "list"}, {}, file.path()).words.back(), "--store=mine");
  EXPECT_EQ(settle({"history", "list"}, store, file.path()).words.back(), "--store=ours");
  store["DLSCALE_HISTORY_LIST_STORE"] = "own";
  EXPECT_EQ(settle({"history", "list"}, store, file.path()).words.back(), "--store=own");
}

TEST(Settings, HaveSeveralValuesAsTheOptionTakesThem) {
  const TemporaryFile file(
      "run: {tag: [a, b]}\nnoise: {effects: [1, 2]}\nbench: {gemm: {sizes: [8x8x8, 9x9x9]}}\n"
      "compare: {machine: [m, n]}\n");
  EXPECT_EQ(settle({"run"}, {}, file.path()).words, (Words{"run", "--tag=a", "--tag=b"}));
  EXPECT_EQ(settle({"noise"}, {}, file.path()).words, (Words{"noise", "--effects=1,2"}));
  EXPECT_EQ(settle({"bench", "gemm"}, {}, file.path()).words.back(), "--sizes=8x8x8,9x9x9");
  EXPECT_EQ(settle({"compare"}, {}, file.path()).words,
            (Words{"compare", "--machine=m", "--machine=n"}));
  EXPECT_EQ(settle({"run"}, {{"DLSCALE_RUN_TAG", "a b\nc\n"}}).words,
            (Words{"run", "--tag=a b", "--tag=c"}));
  EXPECT_EQ(settle({"gate"}, {{"DLSCALE_GATE_BASE", "a\nb"}}).words,
            (Words{"gate", "--base=a\nb"}));
}

TEST(Settings, AreOffWhereTheVariableSaysSoAndWhereHelpIsAskedFor) {
  const Words gate{"gate"};
  EXPECT_THAT(settle(gate, {{"DLSCALE_SETTINGS", "off"}, {"DLSCALE_GATE_ROUNDS", "80"}}).set,
              IsEmpty());
  EXPECT_THAT(settle({"gate", "--help"}, {{"DLSCALE_GATE_CANARY", "what"}}).set, IsEmpty());
  EXPECT_THROW(settle(gate, {{"DLSCALE_GATE_CANARY", "what"}}), ConfigError);
  // Whoever asks how a file is written may have written it wrongly.
  const Words help{"help", "settings"};
  EXPECT_EQ(settle(help, {{"DLSCALE_SETTINGS", "/no/such"}}).words, help);
}

TEST(WhereOptionsAreSet, IsToldBesideThem) {
  const SettledLine line =
      settle({"gate"}, {{"DLSCALE_GATE_MARGIN", "nan"}, {"DLSCALE_GATE_PRESET", "releese"}});
  EXPECT_EQ(with_places("--margin: nan is no fraction.", line.set),
            "--margin (set by DLSCALE_GATE_MARGIN): nan is no fraction.");
  EXPECT_EQ(with_places("there is no preset \"releese\".", line.set),
            "there is no preset \"releese\". --preset is set by DLSCALE_GATE_PRESET.");
  EXPECT_EQ(with_places("--margins and --no-margin are wrong.", line.set),
            "--margins and --no-margin are wrong.");
  EXPECT_EQ(with_places("--margin: a\nb\x1b[1m", line.set),
            "--margin (set by DLSCALE_GATE_MARGIN): a\\nb\\x1b[1m");
  const SettledLine flag = settle({"gate"}, {{"DLSCALE_GATE_CANARY", "yes"}});
  EXPECT_EQ(with_places("say yes or no.", flag.set), "say yes or no.") << "of a flag";
}

/// What the library of options reads out of the words after those of a command.
class Parsed {
 public:
  Parsed() { tree_.declare_all(); }
  /// Names of the options; nothing where it stops in their middle.
  std::set<std::string> named(const Words& words, bool& whole) {
    whole = true;
    tree_.root().require_subcommand(0);
    try {
      tree_.root().parse(Words(words.rbegin(), words.rend()));
    } catch (const CLI::ArgumentMismatch&) {
      whole = false;
    } catch (const CLI::ParseError&) {  // of values, which are of no interest
    } catch (const Read&) {
    }
    std::set<std::string> names;
    const CLI::App* command = &tree_.root();
    while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
    for (const CLI::Option* option : named_options(*command)) {
      if (option->count() > 0) names.insert(option->get_name());
    }
    return names;
  }
  void silence(CLI::App& command) {
    command.require_subcommand(0);
    for (CLI::Option* option : command.get_options([](CLI::Option*) { return true; })) {
      option->required(false);
      option->envname("");
    }
    for (CLI::App* below : commands_below(command)) silence(*below);
  }
  void silence_all() {
    for (CLI::App* verb : commands_below(tree_.root())) {
      silence(*verb);
      verb->parse_complete_callback([] { throw Read(); });
    }
  }

 private:
  struct Read {};
  CommandTree tree_;
};

TEST(CommandWalk, NamesTheOptionsThatTheLibraryReads) {
  Parsed library;
  library.silence_all();
  std::mt19937 random(7);
  const auto one_of = [&](const Words& words) { return words[random() % words.size()]; };
  int compared = 0;
  for (int round = 0; round < 6; ++round) {
    for (CLI::App* command : all_commands()) {
      Words pieces{"7", "a", "1,2", "-3", "--", "x=y", "--no-such", "--no-such=1"};
      for (const CLI::Option* option : settable_options(*command)) {
        for (const std::string& name : names_of(*option)) {
          pieces.push_back(name);
          pieces.push_back(name + (name.starts_with("--") ? "=5" : "5"));
        }
      }
      Words words = words_of(*command);
      for (auto left = random() % 7; left > 0; --left) words.push_back(one_of(pieces));
      bool whole = true;
      const std::set<std::string> read = library.named(words, whole);
      if (!whole) continue;
      ++compared;
      CommandWalk walk(whole_tree().root(), [](CLI::App&) {});
      for (const std::string& word : words) {
        if (walk.is_at_prefix() && walk.role_of(word) == CommandWalk::Role::place) break;
        walk.take(word);
      }
      std::set<std::string> walked;
      for (const CLI::Option* option : walk.named()) walked.insert(option->get_name());
      EXPECT_EQ(walked, read) << fmt::format("{}", fmt::join(words, " "));
    }
  }
  EXPECT_GT(compared, 50);
}

}  // namespace
}  // namespace dlscale::app
