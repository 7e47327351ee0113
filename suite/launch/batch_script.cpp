#include "suite/launch/batch_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <set>
#include <string_view>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/shell_words.hpp"
#include "suite/launch/job_options.hpp"

namespace dlscale::suite {
namespace {

using Words = std::vector<std::string>;

/// A word of a directive that contains a name or path of the user.
std::string own_word(const std::string& word) {
  if (auto text = directive_word(word)) return *text;
  throw ConfigError(fmt::format(
      "\"{}\" has a line break, a backslash or both kinds of quotes, which not every scheduler "
      "reads in the script of a job. Give it another name, or choose another place with -o.",
      escape_for_terminal(word)));
}

/// A path for --output: a percent sign begins a pattern such as %j, so it is doubled.
std::string slurm_file(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text;
}

/// Options of sbatch(1). The command gets SIGTERM half a minute before the time limit, so it can
/// keep its results.
std::vector<std::string> slurm_options(const Partition& partition, const BatchJob& job) {
  std::vector<std::string> options{fmt::format("--job-name={}", job.name),
                                   fmt::format("--partition={}", partition.name),
                                   fmt::format("--nodes={}", job.nodes),
                                   fmt::format("--ntasks-per-node={}", job.cores_per_node),
                                   "--cpus-per-task=1",
                                   fmt::format("--output={}", slurm_file(job.log)),
                                   "--open-mode=append",
                                   "--no-requeue",
                                   "--signal=B:TERM@30"};
  if (job.gpus_per_node > 0) {
    options.push_back(fmt::format("--gpus-per-node={}", job.gpus_per_node));
  }
  if (!job.node.empty()) options.push_back(fmt::format("--nodelist={}", job.node));
  if (!partition.time_limit.empty()) {
    options.push_back(fmt::format("--time={}", partition.time_limit));
  }
  return options;
}

/// Options of flux-batch(1). {{ in a file name begins a template, and Flux offers no escape.
std::vector<std::string> flux_options(const Partition& partition, const BatchJob& job) {
  if (job.log.find("{{") != std::string::npos) {
    throw ConfigError(fmt::format(
        "{} has {{{{ in it, which Flux takes for a template. Choose another place with -o.",
        escape_for_terminal(job.log)));
  }
  std::vector<std::string> options{
      fmt::format("--job-name={}", job.name), fmt::format("--queue={}", partition.name),
      fmt::format("--nodes={}", job.nodes), "--exclusive", fmt::format("--output={}", job.log)};
  if (!partition.time_limit.empty()) {
    options.push_back(fmt::format("--time-limit={}", partition.time_limit));
  }
  return options;
}

/// Options of qsub(1B), pbs_resources(7B). Text before a colon in a file name is a host.
std::vector<Words> pbs_options(const Partition& partition, const BatchJob& job) {
  if (job.log.find(':') != std::string::npos) {
    throw ConfigError(fmt::format(
        "{} has a colon in it, before which PBS expects a host. Choose another place with -o.",
        escape_for_terminal(job.log)));
  }
  std::string chunk = fmt::format("select={}:ncpus={}:mpiprocs={}", job.nodes, job.cores_per_node,
                                  job.cores_per_node);
  if (job.gpus_per_node > 0) chunk += fmt::format(":ngpus={}", job.gpus_per_node);
  std::vector<Words> options{{"-N", job.name},        {"-q", partition.name}, {"-l", chunk},
                             {"-l", "place=scatter"}, {"-j", "oe"},           {"-o", job.log}};
  if (!partition.time_limit.empty()) {
    options.push_back({"-l", fmt::format("walltime={}", partition.time_limit)});
  }
  return options;
}

/// Options of a single word, each as a list.
std::vector<Words> alone(const std::vector<std::string>& options) {
  std::vector<Words> all;
  for (const std::string& option : options) all.push_back({option});
  return all;
}

/// The options that dlscale sets, one line each.
std::vector<Words> own_options(Scheduler scheduler, const Partition& partition,
                               const BatchJob& job) {
  switch (scheduler) {
    case Scheduler::slurm:
      return alone(slurm_options(partition, job));
    case Scheduler::flux:
      return alone(flux_options(partition, job));
    case Scheduler::pbs:
      return pbs_options(partition, job);
    case Scheduler::none:
      break;
  }
  fail_expectation("a scheduler");
}

/// The head of a script: the options of dlscale, of the system file, and of the command line.
class Head {
 public:
  Head(Scheduler scheduler, const BatchJob& job)
      : scheduler_(scheduler), last_(job_option_lines(scheduler, job.options)) {
    for (const std::string& line : last_) {
      std::string_view text = line;
      const std::string_view mark = directive_mark(scheduler);
      if (text.starts_with(mark)) wanted_.merge(options_in(scheduler, text.substr(mark.size())));
    }
  }

  void add(const std::string& options) {
    if (is_replaced(options)) return;
    text_ += fmt::format("{} {}\n", directive_mark(scheduler_), options);
  }

  [[nodiscard]] std::string text() const {
    std::string text = text_;
    for (const std::string& line : last_) text += line + "\n";
    return text;
  }

 private:
  /// Whether the command line replaces these options. Slurm and Flux use the last of two; for PBS
  /// it depends on the option, so only one is written.
  [[nodiscard]] bool is_replaced(const std::string& options) const {
    if (scheduler_ != Scheduler::pbs) return false;
    const std::set<std::string> names = options_in(scheduler_, options);
    const auto is_wanted = [this](const std::string& name) { return wanted_.contains(name); };
    if (std::ranges::none_of(names, is_wanted)) return false;
    if (std::ranges::all_of(names, is_wanted)) return true;
    throw ConfigError(fmt::format(
        "-J sets one of several options that the system file gives in one entry of access, \"{}\", "
        "so that the others would be lost with it. Write each as an entry of its own.",
        escape_for_terminal(options)));
  }

  Scheduler scheduler_;
  std::vector<std::string> last_;
  std::set<std::string> wanted_;
  std::string text_;
};

}  // namespace

std::string batch_script(const System& system, const Partition& partition, const BatchJob& job) {
  Head head(system.scheduler, job);
  for (const Words& option : own_options(system.scheduler, partition, job)) {
    Words words;
    std::ranges::transform(option, std::back_inserter(words), own_word);
    head.add(fmt::format("{}", fmt::join(words, " ")));
  }
  for (const std::string& option : partition.access) head.add(option);
  std::string text = "#!/bin/bash\n" + head.text();
  const auto out = std::back_inserter(text);
  fmt::format_to(out, "set -e\n");
  // PBS runs a script in the home folder.
  if (system.scheduler == Scheduler::pbs) fmt::format_to(out, "cd \"$PBS_O_WORKDIR\"\n");
  for (const auto& [name, value] : partition.environment) {
    fmt::format_to(out, "export {}={}\n", name, shell_word(value));
  }
  for (const std::string& command : partition.prepare) fmt::format_to(out, "{}\n", command);
  fmt::format_to(out, "exec {}\n", shell_line(job.command));
  return text;
}

std::vector<std::string> submission(Scheduler scheduler, const std::string& script) {
  switch (scheduler) {
    case Scheduler::slurm:
      return {"sbatch", "--parsable", script};
    case Scheduler::flux:
      return {"flux", "batch", script};
    case Scheduler::pbs:
      return {"qsub", script};
    case Scheduler::none:
      break;
  }
  fail_expectation("a scheduler");
}

std::string_view directive_mark(Scheduler scheduler) {
  switch (scheduler) {
    case Scheduler::slurm:
      return "#SBATCH";
    case Scheduler::flux:
      return "# flux:";
    case Scheduler::pbs:
      return "#PBS";
    case Scheduler::none:
      break;
  }
  fail_expectation("a scheduler");
}

std::optional<std::string> directive_word(const std::string& word) {
  static constexpr std::string_view plain = "%+,-./:=@_";
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           plain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  const bool several_lines = word.find_first_of("\n\r\\") != std::string::npos;
  const bool both_quotes =
      word.find('\'') != std::string::npos && word.find('"') != std::string::npos;
  if (several_lines || both_quotes) return std::nullopt;
  const char quote = word.find('\'') == std::string::npos ? '\'' : '"';
  return quote + word + quote;
}

}  // namespace dlscale::suite
