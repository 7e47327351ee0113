#include "app/launch/batch_script.hpp"

#include <fmt/format.h>

#include <iterator>
#include <span>

#include "backend/comm/launch.hpp"
#include "core/error.hpp"

namespace dlscale::app {
namespace {

std::string shell_words(std::span<const std::string> words) {
  std::string joined;
  for (const std::string& word : words) joined += word + '\0';
  return backend::shell_text(joined);
}

std::string shell_word(const std::string& word) {
  return shell_words(std::span(&word, 1));
}

/// sbatch(1). Half a minute before its time is over the command gets SIGTERM, and so ends with
/// what it has.
std::vector<std::string> slurm_options(const Partition& partition, const BatchJob& job) {
  std::vector<std::string> options{fmt::format("--job-name={}", job.name),
                                   fmt::format("--partition={}", partition.name),
                                   fmt::format("--nodes={}", job.nodes),
                                   fmt::format("--ntasks-per-node={}", job.cores_per_node),
                                   "--cpus-per-task=1",
                                   fmt::format("--output={}", job.log),
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

/// flux-batch(1).
std::vector<std::string> flux_options(const Partition& partition, const BatchJob& job) {
  std::vector<std::string> options{
      fmt::format("--job-name={}", job.name), fmt::format("--queue={}", partition.name),
      fmt::format("--nodes={}", job.nodes), "--exclusive", fmt::format("--output={}", job.log)};
  if (!partition.time_limit.empty()) {
    options.push_back(fmt::format("--time-limit={}", partition.time_limit));
  }
  return options;
}

/// qsub(1B), pbs_resources(7B).
std::vector<std::string> pbs_options(const Partition& partition, const BatchJob& job) {
  std::string chunk = fmt::format("-l select={}:ncpus={}:mpiprocs={}", job.nodes,
                                  job.cores_per_node, job.cores_per_node);
  if (job.gpus_per_node > 0) chunk += fmt::format(":ngpus={}", job.gpus_per_node);
  std::vector<std::string> options{fmt::format("-N {}", job.name),
                                   fmt::format("-q {}", partition.name),
                                   chunk,
                                   "-l place=scatter",
                                   "-j oe",
                                   fmt::format("-o {}", job.log)};
  if (!partition.time_limit.empty()) {
    options.push_back(fmt::format("-l walltime={}", partition.time_limit));
  }
  return options;
}

struct Directives {
  std::string_view prefix;
  std::vector<std::string> options;
};

Directives directives(Scheduler scheduler, const Partition& partition, const BatchJob& job) {
  switch (scheduler) {
    case Scheduler::slurm:
      return {"#SBATCH", slurm_options(partition, job)};
    case Scheduler::flux:
      return {"# flux:", flux_options(partition, job)};
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
  for (const std::string& option : head.options)
    fmt::format_to(out, "{} {}\n", head.prefix, option);
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
