#include "app/launch/batch_script.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <iterator>
#include <span>
#include <string_view>

#include "backend/comm/launch.hpp"
#include "core/error.hpp"
#include "core/shown_text.hpp"

namespace dlscale::app {
namespace {

using Words = std::vector<std::string>;

std::string shell_words(std::span<const std::string> words) {
  std::string joined;
  for (const std::string& word : words) joined += word + '\0';
  return backend::shell_text(joined);
}

std::string shell_word(const std::string& word) {
  return shell_words(std::span(&word, 1));
}

/// A word of a directive. The parsers of directives (Slurm's and PBS's own, Flux by Python's shlex)
/// take both kinds of quotes, but differ in what a backslash is within them.
std::string directive_word(const std::string& word) {
  static constexpr std::string_view plain = "%+,-./:=@_";
  const auto is_plain = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           plain.find(c) != std::string_view::npos;
  };
  if (!word.empty() && std::ranges::all_of(word, is_plain)) return word;
  const bool several_lines = word.find_first_of("\n\r\\") != std::string::npos;
  const bool both_quotes =
      word.find('\'') != std::string::npos && word.find('"') != std::string::npos;
  if (several_lines || both_quotes) {
    throw ConfigError(fmt::format(
        "\"{}\" has a line break, a backslash or both kinds of quotes, which not every scheduler "
        "reads in the script of a job. Give it another name, or choose another place with -o.",
        shown_text(word)));
  }
  const char quote = word.find('\'') == std::string::npos ? '\'' : '"';
  return quote + word + quote;
}

/// Of --output; a percent sign begins a pattern such as %j, and two are one.
std::string slurm_file(const std::string& path) {
  std::string text;
  for (const char c : path) text += c == '%' ? std::string("%%") : std::string(1, c);
  return text;
}

/// sbatch(1). Half a minute before its time is over the command gets SIGTERM, and so ends with
/// what it has.
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
  if (!partition.time_limit.empty()) {
    options.push_back(fmt::format("--time={}", partition.time_limit));
  }
  return options;
}

/// flux-batch(1). In the name of a file, {{ begins a template, for which there is no other way to
/// write it.
std::vector<std::string> flux_options(const Partition& partition, const BatchJob& job) {
  if (job.log.find("{{") != std::string::npos) {
    throw ConfigError(fmt::format(
        "{} has {{{{ in it, which Flux takes for a template. Choose another place with -o.",
        shown_text(job.log)));
  }
  std::vector<std::string> options{
      fmt::format("--job-name={}", job.name), fmt::format("--queue={}", partition.name),
      fmt::format("--nodes={}", job.nodes), "--exclusive", fmt::format("--output={}", job.log)};
  if (!partition.time_limit.empty()) {
    options.push_back(fmt::format("--time-limit={}", partition.time_limit));
  }
  return options;
}

/// qsub(1B), pbs_resources(7B). What stands before a colon in the name of a file is a host.
std::vector<Words> pbs_options(const Partition& partition, const BatchJob& job) {
  if (job.log.find(':') != std::string::npos) {
    throw ConfigError(fmt::format(
        "{} has a colon in it, before which PBS expects a host. Choose another place with -o.",
        shown_text(job.log)));
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

/// Options of one word each.
std::vector<Words> alone(const std::vector<std::string>& options) {
  std::vector<Words> all;
  for (const std::string& option : options) all.push_back({option});
  return all;
}

struct Directives {
  std::string_view prefix;
  std::vector<Words> options;  ///< a line each
};

Directives directives(Scheduler scheduler, const Partition& partition, const BatchJob& job) {
  switch (scheduler) {
    case Scheduler::slurm:
      return {"#SBATCH", alone(slurm_options(partition, job))};
    case Scheduler::flux:
      return {"# flux:", alone(flux_options(partition, job))};
    case Scheduler::pbs:
      return {"#PBS", pbs_options(partition, job)};
    case Scheduler::none:
      break;
  }
  fail_expectation("a scheduler");
}

}  // namespace

std::string batch_script(const System& system, const Partition& partition, const BatchJob& job) {
  const Directives head = directives(system.scheduler, partition, job);
  std::string text = "#!/bin/bash\n";
  const auto out = std::back_inserter(text);
  for (const Words& option : head.options) {
    text += head.prefix;
    for (const std::string& word : option) text += " " + directive_word(word);
    text += '\n';
  }
  for (const std::string& option : partition.access) {
    fmt::format_to(out, "{} {}\n", head.prefix, option);
  }
  fmt::format_to(out, "set -e\n");
  // PBS starts a script in the home folder.
  if (system.scheduler == Scheduler::pbs) fmt::format_to(out, "cd \"$PBS_O_WORKDIR\"\n");
  for (const auto& [name, value] : partition.environment) {
    fmt::format_to(out, "export {}={}\n", name, shell_word(value));
  }
  for (const std::string& command : partition.prepare) fmt::format_to(out, "{}\n", command);
  fmt::format_to(out, "exec {}\n", shell_words(job.command));
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

}  // namespace dlscale::app
