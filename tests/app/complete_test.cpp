#include "app/complete.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "app/command_tree.hpp"
#include "app/complete_values.hpp"
#include "app/half_typed.hpp"
#include "core/statistics.hpp"
#include "report/history/alert_state.hpp"
#include "report/history/point.hpp"
#include "report/history/run.hpp"
#include "report/history/series_key.hpp"
#include "report/history/store.hpp"

namespace dlscale::app {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Not;
using testing::UnorderedElementsAre;
using Words = std::vector<std::string>;

Words words_for(std::string_view line) {
  Words words;
  for (const Candidate& candidate : complete(line).candidates) words.push_back(candidate.word);
  return words;
}

TEST(HalfTypedLine, IsTakenApartAsAShellWould) {
  const HalfTyped read = read_half_typed(R"(dlscale run 'my suite' "a \"b\" c" d\ e --o)");
  EXPECT_EQ(read.words, (Words{"dlscale", "run", "my suite", "a \"b\" c", "d e"}));
  EXPECT_EQ(read.last, "--o");
}

TEST(HalfTypedLine, MayEndWithinAQuoteOrAfterABackslash) {
  EXPECT_EQ(read_half_typed("dlscale predict --network \"alex").last, "alex");
  EXPECT_EQ(read_half_typed("dlscale predict --network 'alex").last, "alex");
  EXPECT_EQ(read_half_typed("dlscale run a\\").last, "a");
  EXPECT_EQ(read_half_typed("dlscale run \"a\\").last, "a");
  EXPECT_EQ(read_half_typed("dlscale run ").last, "");
  EXPECT_EQ(read_half_typed("dlscale run '' ").words.size(), 3U);
}

TEST(Completion, OffersVerbsAndWhatStandsBelowThem) {
  EXPECT_THAT(words_for("dlscale pre"), ElementsAre("predict"));
  EXPECT_THAT(words_for("dlscale bench co"), ElementsAre("conv", "comm"));
  EXPECT_THAT(words_for("dlscale "), AllOf(Contains("bench"), Contains("doctor"), Contains("help"),
                                           Not(Contains("__complete"))));
}

TEST(Completion, OffersOptionsThatAreNotThereYet) {
  EXPECT_THAT(words_for("dlscale predict --net"), ElementsAre("--network"));
  EXPECT_THAT(words_for("dlscale predict --network alexnet --net"), IsEmpty());
  EXPECT_THAT(words_for("dlscale info "), Contains("--devices"));
  EXPECT_THAT(words_for("dlscale data make --out x --p"),
              UnorderedElementsAre("--pictures", "--picture-size"));
}

TEST(Completion, OffersConfigurationsByTheOptionThatNamesThem) {
  EXPECT_THAT(words_for("dlscale predict --network alex"), ElementsAre("alexnet", "alexnet_owt"));
  EXPECT_THAT(words_for("dlscale predict --network=alex"),
              ElementsAre("--network=alexnet", "--network=alexnet_owt"));
  EXPECT_THAT(words_for("dlscale predict --cluster p40"), ElementsAre("p40x16"));
  EXPECT_THAT(words_for("dlscale predict --device h200"), Contains("h200_sxm"));
  EXPECT_THAT(words_for("dlscale run quick"), Contains("quickstart"));
  EXPECT_THAT(words_for("dlscale run quickstart --system sl"), ElementsAre("slurm"));
}

TEST(Completion, OffersWordsThatAnOptionTakes) {
  EXPECT_THAT(words_for("dlscale calibrate x --cache ho"), ElementsAre("hot"));
  EXPECT_THAT(words_for("dlscale plan --objective "),
              UnorderedElementsAre("time", "cost", "efficiency"));
  EXPECT_THAT(words_for("dlscale predict --format j"), UnorderedElementsAre("json", "junit"));
  EXPECT_THAT(words_for("dlscale bench conv --backend ref"), ElementsAre("reference"));
  EXPECT_THAT(words_for("dlscale history annotate abc --state f"), ElementsAre("fixed"));
  EXPECT_THAT(words_for("dlscale predict --color "),
              UnorderedElementsAre("auto", "always", "never"));
}

TEST(Completion, GoesOnWithLists) {
  EXPECT_THAT(words_for("dlscale predict --schedule wait_free,buck"),
              ElementsAre("wait_free,bucketed"));
  EXPECT_THAT(words_for("dlscale bench comm --op sum,"),
              UnorderedElementsAre("sum,max", "sum,min"));
}

TEST(Completion, KnowsWhatEarlierWordsName) {
  EXPECT_THAT(words_for("dlscale bench conv --network alexnet --layers conv"),
              AllOf(Contains("conv1"), Contains("conv5")));
  EXPECT_THAT(words_for("dlscale run quickstart --system slurm --partition "), Not(IsEmpty()));
}

TEST(Completion, FollowsACommandLineWithinAnother) {
  EXPECT_THAT(words_for("dlscale gate --base-build a --new-build b -- bench gem"),
              ElementsAre("gemm"));
  EXPECT_THAT(words_for("dlscale config show predict --networ"), ElementsAre("--network"));
  EXPECT_THAT(words_for("dlscale config show --col"), ElementsAre("--color", "--colour"));
}

TEST(Completion, OffersFormatsWithTheFileToCome) {
  EXPECT_THAT(words_for("dlscale gate --write j"), UnorderedElementsAre("json=", "junit="));
  EXPECT_THAT(words_for("dlscale compare -o c"), UnorderedElementsAre("comment=", "csv="));
  EXPECT_THAT(words_for("dlscale bench gemm -o "), IsEmpty());
  EXPECT_EQ(complete("dlscale plan -o ").paths, Paths::files);
}

TEST(Completion, LeavesFilesToTheShell) {
  EXPECT_EQ(complete("dlscale report ").paths, Paths::files);
  EXPECT_EQ(complete("dlscale data info ").paths, Paths::folders);
  EXPECT_EQ(complete("dlscale run quickstart -o ").paths, Paths::folders);
  EXPECT_EQ(complete("dlscale predict --machine ").paths, Paths::files);
  EXPECT_EQ(complete("dlscale predict --ranks ").paths, Paths::none);
  EXPECT_EQ(complete("dlscale history add --machine ").paths, Paths::none);
}

TEST(Completion, SaysNothingOfWhatItCannotRead) {
  EXPECT_THAT(words_for("dlscale bench conv --network no_such --layers "), IsEmpty());
  EXPECT_THAT(words_for("dlscale run no_such_suite --name "), IsEmpty());
  EXPECT_THAT(words_for("dlscale history annotate --store /nowhere/at/all "), IsEmpty());
  EXPECT_THAT(words_for(""), IsEmpty());
  EXPECT_THAT(words_for("dlscale no_such_verb --net"), IsEmpty());
}

/// All commands of the program, with their words.
void each_command(CLI::App& command, const std::function<void(CLI::App&)>& visit) {
  visit(command);
  for (CLI::App* below : commands_below(command)) each_command(*below, visit);
}

TEST(Completion, OffersEveryVerbAndOptionThereIs) {
  CommandTree tree;
  tree.declare_all();
  int options = 0;
  each_command(tree.root(), [&](CLI::App& command) {
    const std::string line = "dlscale " + path_of(command) + (path_of(command).empty() ? "" : " ");
    for (const CLI::App* below : commands_below(command)) {
      EXPECT_THAT(words_for(line + below->get_name()), Contains(below->get_name()));
    }
    const Words all = words_for(line + "-");
    for (const CLI::Option* option : named_options(command)) {
      for (const std::string& name : names_of(*option)) EXPECT_THAT(all, Contains(name)) << line;
      ++options;
    }
  });
  EXPECT_GT(options, 300);
}

/// Commands that a line of the table is of.
bool is_below(const std::string& path, std::string_view command) {
  return command.empty() || path == command || path.starts_with(std::string(command) + " ");
}

TEST(TableOfValues, NamesOptionsThatThereAre) {
  CommandTree tree;
  tree.declare_all();
  for (const ValuesLine& line : lines_of_values()) {
    bool is_there = false;
    each_command(tree.root(), [&](CLI::App& command) {
      if (!is_below(path_of(command), line.command)) return;
      for (const CLI::Option* option : command.get_options({})) {
        const Words names = names_of(*option);
        is_there = is_there || option->get_name() == line.option ||
                   std::ranges::find(names, line.option) != names.end();
      }
    });
    EXPECT_TRUE(is_there) << line.command << " " << line.option;
  }
}

TEST(TableOfValues, ListsWordsThatHelpExplains) {
  CommandTree tree;
  tree.declare_all();
  each_command(tree.root(), [&](CLI::App& command) {
    for (const CLI::Option* option : named_options(command)) {
      const OptionValues values = values_of(*option, {.command = path_of(command), .given = {}});
      const std::string help = option->get_description() + " " + option->get_default_str();
      for (const ValuesLine& line : lines_of_values()) {
        const bool own = line.option == option->get_name() && !line.words.empty() &&
                         is_below(path_of(command), line.command) && choices_of(*option).empty();
        const Words listed = CLI::detail::split(std::string(line.words), ',');
        const bool used = own && values.words.size() == listed.size() &&
                          values.words.front().word == listed.front();
        if (!used) continue;
        for (const std::string& word : listed) {
          EXPECT_NE(help.find(word), std::string::npos)
              << path_of(command) << " " << line.option << " " << word;
        }
      }
    }
  });
}

TEST(CompletionText, IsWhatTheShellsRead) {
  const Completions found{{{"cold", "from memory. Or not"}, {"hot", ""}}, Paths::files};
  EXPECT_EQ(completion_text(found, "bash", 0), "cold\nhot\n:files\n");
  EXPECT_EQ(completion_text(found, "fish", 0), "cold\tfrom memory\nhot\n:files\n");
}

TEST(CompletionText, LeavesOutWhatBashTookApart) {
  constexpr std::string_view line = "dlscale predict --network=alex";
  const std::size_t apart = taken_apart(line, "\"'@><=;|&(:");
  EXPECT_EQ(completion_text(complete(line), "bash", apart), "alexnet\nalexnet_owt\n:files\n");
  constexpr std::string_view key = "dlscale predict --set inter_node.band";
  EXPECT_EQ(completion_text(complete(key), "bash", taken_apart(key, "=:")),
            "inter_node.bandwidth=\n");
}

TEST(Completion, TakesWhateverIsTyped) {
  std::mt19937 draw(1);
  const Words pieces{"dlscale",  " ",    "bench",    "gate",    "--",  "-",         "=",
                     "\"",       "'",    "\\",       "conv",    "\t",  "--network", ",",
                     "--layers", "\xff", "--cache=", "predict", "run", "--name",    "config",
                     "show",     "-o",   "--",       "\n"};
  std::uniform_int_distribution<std::size_t> piece(0, pieces.size() - 1);
  for (int i = 0; i < 60; ++i) {
    std::string line = "dlscale ";
    for (int k = 0; k < 8; ++k) line += pieces[piece(draw)];
    for (const Candidate& candidate : complete(line).candidates) {
      EXPECT_NE(candidate.word, "") << line;
    }
  }
}

TEST(Completion, OffersCellsOfASuite) {
  EXPECT_THAT(words_for("dlscale run cluster_quick --name "), Not(IsEmpty()));
  EXPECT_THAT(words_for("dlscale run cluster_quick --tag "), testing::Contains("communication"));
  EXPECT_THAT(words_for("dlscale run --list --tag "), testing::Contains("training"));
  EXPECT_THAT(words_for("dlscale run --list --tag training --ta"), ElementsAre("--tag"));
  EXPECT_THAT(words_for("dlscale run --list --tag training --tag "),
              Not(testing::Contains("training")));
}

/// The id of the only series.
std::string alert_series(report::history::Store& store) {
  std::string id;
  store.each_series([](const report::history::SeriesKey&) { return true; },
                    [&](report::history::Series&& series) { id = series.key.id(); });
  return id;
}

/// A run of one kernel for each of 40 commits, which took 3 % longer from c21 on.
void add_commits(report::history::Store& store) {
  namespace history = report::history;
  std::vector<history::ImportedRun> runs;
  for (int commit = 1; commit <= 40; ++commit) {
    history::KeyedPoint keyed;
    keyed.key.suite = "gemm";
    keyed.key.metric = "time";
    keyed.key.unit = "s";
    keyed.point.commit = fmt::format("c{:02}", commit);
    keyed.point.time = 1'700'000'000 + 3600 * commit;
    const double value = (commit > 20 ? 1.03 : 1.0) + 1e-4 * (commit % 5);
    keyed.point.summary = summarize(std::array{value});
    history::ImportedRun run;
    run.file = run.content = keyed.point.commit + "\n";
    run.format = "test";
    run.commit = keyed.point.commit;
    run.time = keyed.point.time;
    run.points = {keyed};
    runs.push_back(run);
  }
  store.add(runs);
}

TEST(Completion, OffersTheAlertsOfAHistoryAndNoOtherCommits) {
  const auto folder =
      std::filesystem::temp_directory_path() / fmt::format("dlscale-alerts-{}", ::getpid());
  std::filesystem::remove_all(folder);
  report::history::Store store(folder);
  add_commits(store);
  const std::string annotate = "dlscale history annotate --store " + folder.string();
  const std::string bisect = "dlscale history bisect --store " + folder.string();
  EXPECT_EQ(complete(annotate + " c").candidates,
            (std::vector<Candidate>{{"c21", "new, 1 metric, after c20"}}));
  EXPECT_THAT(words_for(bisect + " "), Contains("c21"));
  EXPECT_THAT(words_for(annotate + " c2"), ElementsAre("c21"));
  EXPECT_THAT(words_for(annotate + " c1"), IsEmpty());
  // As the command would judge with the same options.
  EXPECT_THAT(words_for(annotate + " --margin 0.5 c"), IsEmpty());
  EXPECT_THAT(words_for(annotate + " --sensitive c"), ElementsAre("c21"));
  EXPECT_THAT(words_for(annotate + " --margin much c"), IsEmpty());
  // What is expected is raised no more: there is nothing to bisect, and it can be annotated again.
  store.annotate(
      {1'800'000'000, "c21", report::history::AlertState::expected, {alert_series(store)}, ""});
  EXPECT_EQ(complete(annotate + " c").candidates, (std::vector<Candidate>{{"c21", "expected"}}));
  EXPECT_THAT(words_for(bisect + " c"), IsEmpty());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace dlscale::app
