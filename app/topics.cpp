#include "app/topics.hpp"

#include <fmt/format.h>

#include <array>

namespace dlscale::app {
namespace {

constexpr std::array exits{
    ExitMeaning{ExitCode::ok, "All is well: no regression, no failed validation."},
    ExitMeaning{ExitCode::regression,
                "A regression that nobody has acknowledged, or a validation that failed."},
    ExitMeaning{ExitCode::bad_input,
                "The command line, a configuration, a file or a place to write is wrong. What is "
                "wrong with it stands on standard error, in a sentence."},
    ExitMeaning{ExitCode::inconclusive,
                "Too little is known to judge: too few rounds, or a machine that is not quiet."},
    ExitMeaning{ExitCode::wrong_result,
                "A crash, a lost rank, a library that failed, an answer that is wrong, or rounds of a "
                "gate that have nothing in common."},
    ExitMeaning{ExitCode::nothing_measured, "Nothing was measured, or nothing matches."},
    ExitMeaning{ExitCode::not_built, "This build, or this machine, lacks what was asked for."},
    ExitMeaning{ExitCode::interrupted, "Interrupted (SIGINT). What was measured is kept."},
    ExitMeaning{ExitCode::terminated, "Ended from outside (SIGTERM). What was measured is kept."},
};

constexpr std::array own{
    Variable{
        "DLSCALE_CONFIGS",
        "Folder that holds networks/, clusters/ and the other configurations. Without it: that "
        "of the source tree, else share/dlscale/configs beside the program."},
    Variable{"DLSCALE_PLOTS",
             "Folder of the scripts that draw figures of reports. Without it: that of the source "
             "tree, else share/dlscale/plots beside the program."},
    Variable{"DLSCALE_PLAN_CACHE",
             "Folder that keeps what was fastest by trial on GPUs, or off. Without it: dlscale in "
             "XDG_CACHE_HOME, else in ~/.cache."},
    Variable{"DLSCALE_SETTINGS",
             "The settings file, or off: neither a file nor variables of options count (dlscale "
             "help settings)."},
    Variable{"DLSCALE_HISTORY",
             "The history that dlscale history reads where --store is left out."},
    Variable{"DLSCALE_RENDEZVOUS",
             "A file that all ranks can reach and that is not there yet: they meet by it, and NCCL "
             "joins them, whoever started them (docs/NCCL.md)."},
    Variable{"DLSCALE_RANK", "With DLSCALE_RENDEZVOUS: this rank's number, from 0."},
    Variable{"DLSCALE_WORLD", "With DLSCALE_RENDEZVOUS: the number of ranks."},
    Variable{"DLSCALE_RENDEZVOUS_TIMEOUT",
             "With DLSCALE_RENDEZVOUS: seconds to wait for the other ranks (120)."},
    Variable{"DLSCALE_CLUSTER",
             "What this machine and its links are, in words: kept in results, and results that "
             "differ in it are not compared or fitted together."},
};

constexpr std::array foreign{
    Variable{"NO_COLOR",
             "If it is set, and not empty, tables have no colours; --color always overrides it "
             "(no-color.org)."},
    Variable{"TERM", "No colours on a terminal that is called dumb, or not called at all."},
    Variable{"LC_ALL, LC_CTYPE, LANG",
             "Whether tables are drawn in UTF-8: by the first of them that is set."},
    Variable{"XDG_CACHE_HOME, HOME", "Where DLSCALE_PLAN_CACHE and the gate's builds are kept."},
    Variable{"XDG_CONFIG_HOME, HOME", "Where the user's own settings file is looked for."},
    Variable{"NCCL_*, OMPI_MCA_*, MPIR_CVAR_*, OMP_*, DNNL_*, ONEDNN_*",
             "Read by the libraries themselves; results keep them."},
    Variable{"SOURCE_DATE_EPOCH", "The date of the manual that the build writes."},
};

std::string text_of_exits() {
  std::string text;
  for (const ExitMeaning& exit : exits) {
    text += fmt::format("{:>5}  {}\n", static_cast<int>(exit.code), exit.meaning);
  }
  return text;
}

std::string text_of_environment() {
  std::string text;
  for (const std::span<const Variable> group : {own_variables(), foreign_variables()}) {
    for (const Variable& variable : group) {
      text += fmt::format("{}\n    {}\n", variable.name, variable.doc);
    }
  }
  return text +
         "Every option has a variable besides (dlscale help settings). dlscale config show says "
         "which are set,\nand what follows.\n";
}

std::string text_of_settings() {
  return std::string(settings_rule()) + R"(

                         dlscale gate --rounds 80               dlscale bench gemm --samples 50
in the environment       DLSCALE_GATE_ROUNDS=80                 DLSCALE_BENCH_GEMM_SAMPLES=50
in a settings file       gate: {rounds: 80}                     bench: {gemm: {samples: 50}}

The file is that of DLSCALE_SETTINGS, else dlscale.yaml in the working folder, else
~/.config/dlscale/settings.yaml (or in XDG_CONFIG_HOME): the first that is there, alone.

flags     yes or no (true or false, 1 or 0) in the environment; true or false in a file; on the
          command line --fresh=false puts out what is set.
lists     as on the command line, with commas; in a file also [a, b]. Of an option that may be there
          several times, such as --write, each line of its variable is one.
off       DLSCALE_SETTINGS=off: neither a file nor variables of options count. Programs that dlscale
          starts itself, those of suites, gates, studies and bisections, have it so. Others, such
          as DLSCALE_HISTORY, go on to count.
told by   dlscale config show VERB ...: each value, and the variable or line that it is from.
)";
}

std::string text_of_statistics() {
  return
      R"(A cell is measured until the interval of its median is narrow (--precision), or time is up
(--max-time). All samples are kept, those of every rank; none is thrown away as an outlier.

median    of the samples, of several ranks of the slowest each time, with an interval of 95 % from
          ranks, which assumes nothing of how times are distributed. Fewer than 6 have none.
unstable  that interval was wider than asked for when time was up.
error     of a prediction: (predicted - measured) / measured, with its sign.

compare   two files: regressed if the interval of the ratio of medians lies beyond --margin as a
          whole, inconclusive if it reaches across. From 5 launches of each the interval is that of
          Hodges, Lehmann and Moses, with fewer a bootstrap, which knows little of launches.
          Among many rows by Benjamini and Hochberg's rule at 5 %; what was measured on other
          classes of machines, or by other launches, is inconclusive (--across-machines).
gate      two versions in fresh processes, turn by turn in random order, against --margin: signed
          ranks of rounds below 20 of them, the sign test from there on, at looks that share 5 % of
          errors; among many metrics by Benjamini and Hochberg's rule.
history   many commits: the newest against those before it, and changes of level.
noise     slow-downs that are known: what the gate can find on this machine at all.
doctor    what makes it find less, and what to do about it.

The rules with their sources: docs/REGRESSION.md, docs/HISTORY.md and docs/RESULTS.md.
)";
}

constexpr std::array all_topics{
    Topic{"exit-codes", "What the exit code of a verb means", text_of_exits},
    Topic{"statistics", "How samples become medians, intervals and verdicts", text_of_statistics},
    Topic{"environment", "Environment variables and what they change", text_of_environment},
    Topic{"settings", "Options in the environment and in settings files", text_of_settings},
};

}  // namespace

std::span<const ExitMeaning> exit_meanings() {
  return exits;
}

std::span<const Variable> own_variables() {
  return own;
}

std::span<const Variable> foreign_variables() {
  return foreign;
}

std::string_view settings_rule() {
  return "Every option can be set in the environment and in a settings file, too: by the words of "
         "its command and\nits long name. What is typed comes before the environment, that before "
         "the file, that before defaults. An\noption that goes without one that is typed, or only "
         "with one that is not there, is left out.";
}

std::span<const Topic> topics() {
  return all_topics;
}

}  // namespace dlscale::app
