#include "core/config/system_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <set>

#include "core/base/error.hpp"
#include "core/config/config_file.hpp"
#include "core/config/config_path.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"
#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr std::array all_schedulers{Scheduler::none, Scheduler::slurm, Scheduler::flux,
                                    Scheduler::pbs};
constexpr std::array all_launchers{Launcher::mpirun, Launcher::mpiexec, Launcher::srun,
                                   Launcher::flux};
constexpr IntegerRange count_range{1, 1'000'000};
constexpr IntegerRange from_zero{0, 1'000'000};

Scheduler parse_scheduler(std::string_view word) {
  return parse_word("scheduler", word, all_schedulers, scheduler_name);
}

Launcher parse_launcher(std::string_view word) {
  return parse_word("launcher", word, all_launchers, launcher_name);
}

/// Requires a single line in values for a script or a command line.
void expect_one_line(const ConfigMap& map, std::string_view key, const std::string& text) {
  if (!text.empty() && is_plain_line(text)) return;
  throw ConfigError(
      fmt::format("{} is empty or holds a line break or another control character (it becomes part "
                  "of one line of a script). Write it on one line, or leave it out.",
                  map.where(key)));
}

std::string line(const ConfigMap& map, std::string_view key) {
  std::string text = map.text(key);
  expect_one_line(map, key, text);
  return text;
}

std::vector<std::string> lines(const ConfigMap& map, std::string_view key) {
  if (!map.has(key)) return {};
  std::vector<std::string> texts = map.texts(key);
  for (const std::string& text : texts) expect_one_line(map, key, text);
  return texts;
}

/// Options for lines of a script, for example "-A physics".
std::vector<std::string> script_options(const ConfigMap& map, std::string_view key) {
  std::vector<std::string> texts = lines(map, key);
  for (const std::string& text : texts) {
    if (text.starts_with('-')) continue;
    throw ConfigError(
        fmt::format("{} holds \"{}\", which is not an option. Write each as the "
                    "scheduler takes it, for example \"-A physics\".",
                    map.where(key), text));
  }
  return texts;
}

/// Options as words of a command line, which no shell splits.
std::vector<std::string> word_options(const ConfigMap& map, std::string_view key) {
  std::vector<std::string> words = lines(map, key);
  for (const std::string& word : words) {
    if (word.find(' ') == std::string::npos) continue;
    throw ConfigError(
        fmt::format("{} holds \"{}\", which is more than one word. Write each word "
                    "as one entry of the list.",
                    map.where(key), word));
  }
  return words;
}

bool is_variable_name(std::string_view name) {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_";
  constexpr std::string_view digits = "0123456789";
  if (name.empty() || digits.find(name.front()) != std::string_view::npos) return false;
  return std::ranges::all_of(name, [&](char c) {
    return letters.find(c) != std::string_view::npos || digits.find(c) != std::string_view::npos;
  });
}

std::map<std::string, std::string> read_environment(const ConfigMap& map) {
  std::map<std::string, std::string> result;
  for (const std::string& name : map.keys()) {
    if (!is_variable_name(name)) {
      throw ConfigError(
          fmt::format("{} is not the name of an environment variable. Write letters, "
                      "digits and _, beginning with no digit.",
                      map.where(name)));
    }
    result[name] = line(map, name);
  }
  return result;
}

Partition read_partition(const ConfigMap& map) {
  map.allow_only({"name", "access", "nodes", "cores_per_node", "devices_per_node", "max_jobs",
                  "time_limit", "hostfile", "launcher_options", "prepare", "environment"});
  Partition partition;
  partition.name = line(map, "name");
  partition.access = script_options(map, "access");
  partition.nodes = map.integer_or("nodes", 1, count_range);
  partition.cores_per_node = map.integer_or("cores_per_node", 0, from_zero);
  partition.devices_per_node = map.integer_or("devices_per_node", 0, from_zero);
  partition.max_jobs = map.integer_or("max_jobs", 0, from_zero);
  if (map.has("time_limit")) partition.time_limit = line(map, "time_limit");
  if (map.has("hostfile")) partition.hostfile = line(map, "hostfile");
  partition.launcher_options = word_options(map, "launcher_options");
  partition.prepare = lines(map, "prepare");
  if (map.has("environment")) partition.environment = read_environment(map.map("environment"));
  return partition;
}

/// srun and "flux run" request nodes from their own schedulers.
void check_launcher(const ConfigMap& map, const System& system) {
  const bool fits = (system.launcher != Launcher::srun || system.scheduler == Scheduler::slurm) &&
                    (system.launcher != Launcher::flux || system.scheduler == Scheduler::flux);
  if (fits) return;
  map.refuse(
      "launcher",
      fmt::format("the launcher of another scheduler than {}", scheduler_name(system.scheduler)),
      "Write mpirun or mpiexec, or name its scheduler.");
}

/// Refuses keys that would be ignored, or that repeat another setting.
void check_keys(const ConfigMap& map, const Partition& partition, Scheduler scheduler) {
  if (scheduler != Scheduler::none) {
    if (!partition.hostfile.empty()) {
      map.refuse("hostfile", "of no use where a scheduler hands out the nodes", "Leave it out.");
    }
    return;
  }
  for (const std::string_view key : {"access", "max_jobs", "time_limit", "prepare"}) {
    if (!map.has(key)) continue;
    throw ConfigError(
        fmt::format("{} would have no effect: it is for jobs, and the system has no "
                    "scheduler. Leave it out, or name one.",
                    map.where(key)));
  }
  if (partition.nodes > 1 && partition.hostfile.empty()) {
    map.refuse("nodes", "more than this one, and neither a scheduler nor a list names the others",
               "Add hostfile: with a file that the launcher reads.");
  }
}

}  // namespace

std::string_view scheduler_name(Scheduler scheduler) {
  switch (scheduler) {
    case Scheduler::none:
      return "none";
    case Scheduler::slurm:
      return "slurm";
    case Scheduler::flux:
      return "flux";
    case Scheduler::pbs:
      return "pbs";
  }
  fail_expectation("a scheduler");
}

std::string_view launcher_name(Launcher launcher) {
  switch (launcher) {
    case Launcher::mpirun:
      return "mpirun";
    case Launcher::mpiexec:
      return "mpiexec";
    case Launcher::srun:
      return "srun";
    case Launcher::flux:
      return "flux";
  }
  fail_expectation("a launcher");
}

System load_system(std::string_view name) {
  const std::filesystem::path path = find_config("systems", name);
  const ConfigMap map = ConfigMap::load(path);
  map.allow_only({"system", "doc", "scheduler", "launcher", "partitions"});
  System system;
  system.name = line(map, "system");
  system.doc = map.text_or("doc", "");
  system.scheduler = read_word(map, "scheduler", parse_scheduler);
  system.launcher = read_word(map, "launcher", parse_launcher);
  check_launcher(map, system);
  std::set<std::string> names;
  for (const ConfigMap& each : map.maps("partitions")) {
    const Partition partition = read_partition(each);
    check_keys(each, partition, system.scheduler);
    if (!names.insert(partition.name).second) {
      each.refuse("name", "the name of another partition, too", "Give each a name of its own.");
    }
    system.partitions.push_back(partition);
  }
  if (system.partitions.empty()) map.refuse("partitions", "empty", "Write a list of partitions.");
  return system;
}

const Partition& find_partition(const System& system, std::string_view name) {
  if (name.empty()) return system.partitions.front();
  std::vector<std::string> names;
  for (const Partition& partition : system.partitions) {
    if (partition.name == name) return partition;
    names.push_back(partition.name);
  }
  throw ConfigError(fmt::format("the system {} has no partition \"{}\". {}", system.name, name,
                                suggestion(name, names)));
}

}  // namespace dlscale
