#include "suite/run_cells.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "core/config/config_path.hpp"
#include "core/system/output.hpp"
#include "core/system/this_command_line.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/name_pattern.hpp"
#include "core/text/numbers.hpp"
#include "core/text/progress_line.hpp"
#include "core/text/shell_words.hpp"
#include "core/text/suggest.hpp"
#include "suite/cells/canary.hpp"
#include "suite/cells/plan.hpp"
#include "suite/cells/runner.hpp"
#include "suite/launch/job_options.hpp"
#include "suite/launch/launch_command.hpp"
#include "suite/run_jobs.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;

const char* from_environment(const char* name) {
  return std::getenv(name);
}

/// Throws ConfigError for a tag that no cell has, which is misspelt.
void check_tags(const Suite& suite, const CellOptions& options) {
  if (options.tags.empty()) return;
  std::set<std::string> known;
  for (const SuiteCell& cell : suite.cells) known.insert(cell.tags.begin(), cell.tags.end());
  for (const std::string& tag : options.tags) {
    if (known.contains(tag)) continue;
    const std::vector<std::string> tags(known.begin(), known.end());
    throw Error(
        ExitCode::nothing_measured,
        fmt::format("no cell of the suite {} has the tag \"{}\", so nothing is measured. {}",
                    suite.name, escape_for_terminal(tag),
                    tags.empty() ? "It has no tags: leave --tag out." : suggestion(tag, tags)));
  }
}

/// The selected cells; at least one.
std::vector<SuiteCell> chosen(const Suite& suite, const CellOptions& options) {
  std::vector<SuiteCell> cells = suite.cells;
  if (!options.distribute.empty()) {
    std::erase_if(cells, [](const SuiteCell& it) { return it.shape.nodes != 1; });
  }
  check_tags(suite, options);
  for (const std::string& tag : options.tags) {
    std::erase_if(cells, [&](const SuiteCell& it) { return !it.tags.contains(tag); });
  }
  if (!options.name.empty()) {
    const NamePattern wanted("--name", options.name);
    std::erase_if(cells, [&](const SuiteCell& it) { return !wanted.is_in(it.name); });
  }
  if (!options.exclude.empty()) {
    const NamePattern left_out("--exclude", options.exclude);
    std::erase_if(cells, [&](const SuiteCell& it) { return left_out.is_in(it.name); });
  }
  if (options.nodes) {
    std::erase_if(cells, [&](const SuiteCell& it) { return it.shape.nodes != *options.nodes; });
  }
  if (!cells.empty()) return cells;
  throw Error(
      ExitCode::nothing_measured,
      fmt::format(
          "none of the {} of the suite {} is left by --name, --exclude, --tag, --nodes and "
          "--distribute, so nothing is measured. --list alone in their place shows all names.",
          counted(static_cast<long long>(suite.cells.size()), "cell"), suite.name));
}

/// The place where the cells of this call run.
struct Where {
  System system;
  CellRunOptions run;
};

/// The nodes of an allocation override the system file.
Where find_place(const CellCall& call) {
  Where where;
  where.system = load_system(call.options.system.empty() ? "local" : call.options.system);
  CellRunOptions& run = where.run;
  run.place.launcher = where.system.launcher;
  run.place.partition = find_partition(where.system, call.options.partition);
  run.place.mpi_launcher = DLSCALE_MPIEXEC;
  run.allocation = find_allocation(from_environment);
  if (run.allocation && run.allocation->nodes > 0) {
    run.place.partition.nodes = run.allocation->nodes;
  }
  run.launcher_settings = launcher_settings();
  run.program = this_program().string();
  if (call.options.time_budget_s) run.budget_s = *call.options.time_budget_s;
  run.progress = ProgressLine::kind_for(call.quiet);
  return where;
}

void check_shapes(std::span<const SuiteCell> cells, const Where& where) {
  for (const SuiteCell& cell : cells) {
    const std::string problem = shape_problem(where.run.place.partition, cell.shape);
    if (problem.empty()) continue;
    const std::string here =
        where.run.allocation ? fmt::format("the allocation of job {} ", where.run.allocation->job)
                             : std::string();
    throw ConfigError(
        fmt::format("cell \"{}\" needs {}, and {}{}. Leave it out (--exclude, --nodes), or name a "
                    "system or partition that has them.",
                    cell.name, to_text(cell.shape), here.empty() ? "" : "in " + here, problem));
  }
}

/// Whether cells run in jobs of a scheduler instead of from this process.
bool by_jobs(const Where& where) {
  return where.system.scheduler != Scheduler::none && !where.run.allocation;
}

/// Throws ConfigError for a missing hostfile, which a launcher would report for every cell.
void check_hostfile(const Where& where) {
  const std::string& hosts = where.run.place.partition.hostfile;
  std::error_code unknown;
  if (hosts.empty() || fs::is_regular_file(hosts, unknown)) return;
  throw ConfigError(fmt::format(
      "{} is not a file, and the partition {} of the system {} lists its nodes there (hostfile, "
      "relative to the folder in which dlscale is called). Write one node a line, as the launcher "
      "reads it.",
      fs::absolute(hosts).lexically_normal().string(), where.run.place.partition.name,
      where.system.name));
}

/// Refuses --distribute except with Slurm and outside its jobs: only Slurm reports idle nodes.
void check_distribution(const Where& where, const CellOptions& options) {
  if (options.distribute.empty()) return;
  if (where.system.scheduler == Scheduler::slurm && !where.run.allocation) return;
  throw ConfigError(fmt::format(
      "--distribute {} is for jobs of Slurm that are submitted from outside of one, and {}. Leave "
      "it out, or name another system with --system.",
      options.distribute,
      where.run.allocation ? fmt::format("this is inside of job {}", where.run.allocation->job)
                           : fmt::format("the system {} has none", where.system.name)));
}

void check_submission(const Where& where, const CellOptions& options) {
  check_distribution(where, options);
  const bool asks_for_jobs = options.submit || !options.write_scripts.empty();
  if (asks_for_jobs && where.system.scheduler == Scheduler::none) {
    throw ConfigError(
        fmt::format("the system {} has no scheduler, so there are no jobs to write or "
                    "submit. Name another with --system.",
                    where.system.name));
  }
  if (asks_for_jobs && where.run.allocation) {
    throw ConfigError(
        fmt::format("this is inside of job {} already, where cells are started at "
                    "once. Leave --submit and --write-scripts out.",
                    where.run.allocation->job));
  }
  if (by_jobs(where) && !asks_for_jobs && !options.dry_run) {
    throw ConfigError(fmt::format(
        "the system {} gives nodes to jobs of {}, and this is in none. Give --submit to "
        "have them submitted and waited for, --write-scripts DIR to submit them "
        "yourself, or start this inside of a job.",
        where.system.name, scheduler_name(where.system.scheduler)));
  }
  if (options.submit && where.system.scheduler != Scheduler::slurm) {
    throw Unsupported(
        fmt::format("--submit waits for jobs of Slurm only, not yet of {}. Give "
                    "--write-scripts DIR and submit what it writes; the cells are "
                    "collected by the jobs themselves.",
                    scheduler_name(where.system.scheduler)));
  }
}

/// Whether a line names nodes; Slurm accepts abbreviations of long options.
bool names_nodes(Scheduler scheduler, const std::string& line) {
  const std::set<std::string> names = options_in(scheduler, line);
  return std::ranges::any_of(names, [](const std::string& name) {
    return name == "w" || (name.size() > 4 && std::string_view("nodelist").starts_with(name));
  });
}

/// Checks the job options before they are written into scripts.
void check_job_options(const Where& where, const CellOptions& options) {
  if (options.job_options.empty()) return;
  if (where.system.scheduler == Scheduler::none) {
    throw ConfigError(
        fmt::format("-J {} is for jobs of a scheduler, and the system {} has none. Name another "
                    "with --system, or leave it out.",
                    escape_for_terminal(options.job_options.front()), where.system.name));
  }
  if (where.run.allocation) {
    throw ConfigError(
        fmt::format("-J {} would have no effect: this is inside of job {} already, whose options "
                    "are what they are. Leave it out.",
                    escape_for_terminal(options.job_options.front()), where.run.allocation->job));
  }
  for (const std::string& line : job_option_lines(where.system.scheduler, options.job_options)) {
    if (!options.distribute.empty() && names_nodes(where.system.scheduler, line)) {
      throw ConfigError(
          fmt::format("-J names nodes (\"{}\"), and --distribute gives each job its own. Leave out "
                      "the one or the other.",
                      escape_for_terminal(line)));
    }
  }
}

std::string system_text(const Where& where) {
  return fmt::format("{}, partition {}, {}", where.system.name, where.run.place.partition.name,
                     launcher_name(where.system.launcher));
}

struct Plan {
  std::vector<SuiteCell> cells;  ///< all cells of the suite, in their order
  std::string text;
};

/// Whether --restart discards the plan too: it does if all cells are selected.
bool begins_anew(const CellCall& call) {
  return call.fresh && !call.options.chooses();
}

/// Makes the plan; it reuses the seed of an existing plan.
Plan make_plan(const CellCall& call, const Where& where) {
  const std::optional<std::uint64_t> planned =
      begins_anew(call) ? std::nullopt : planned_seed(call.out);
  const std::uint64_t seed = call.options.seed.value_or(planned.value_or(1));
  Plan plan;
  plan.cells = in_random_order(call.suite->cells, seed);
  plan.text = plan_text({call.suite->name, call.build, system_text(where), seed}, plan.cells);
  return plan;
}

JobsCall jobs_call(const CellCall& call, const Where& where) {
  const auto whole_path = [](std::string_view group, const std::string& name) {
    return fs::absolute(find_config(group, name)).lexically_normal().string();
  };
  std::vector<std::string> words{where.run.program, "run", whole_path("suites", call.suite_file),
                                 "--system", whole_path("systems", call.options.system)};
  const auto add = [&words](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--partition", call.options.partition);
  add("-o", fs::absolute(call.out).lexically_normal().string());
  if (!call.data.empty()) add("--data", fs::absolute(call.data).lexically_normal().string());
  add("--name", call.options.name);
  add("--exclude", call.options.exclude);
  for (const std::string& tag : call.options.tags) add("--tag", tag);
  if (call.options.time_budget_s) {
    add("--time-budget", fmt::format("{}", *call.options.time_budget_s));
  }
  if (call.of_steps.wait_quiet_s) {
    add("--wait-quiet", fmt::format("{}", *call.of_steps.wait_quiet_s));
  }
  add("--cluster", call.of_steps.cluster);
  return {.system = where.system,
          .partition = where.run.place.partition,
          .suite = call.suite->name,
          .out = call.out,
          .command = words,
          .node = call.node,
          .options = call.options.job_options,
          .progress = where.run.progress};
}

/// The cells in the order of the plan.
std::vector<SuiteCell> in_order(const Plan& plan, const std::vector<SuiteCell>& cells) {
  std::set<std::string> ids;
  for (const SuiteCell& cell : cells) ids.insert(cell.id);
  std::vector<SuiteCell> ordered;
  for (const SuiteCell& cell : plan.cells) {
    if (ids.contains(cell.id)) ordered.push_back(cell);
  }
  return ordered;
}

/// Removes the selected cells (--restart) or those of them that failed (--retry).
void forget(const CellCall& call, const CellStore& store, std::span<const SuiteCell> cells) {
  if (begins_anew(call)) {
    store.discard();
    std::error_code absent;
    fs::remove(plan_path(call.out), absent);
    return;
  }
  if (call.fresh) return store.discard(cells);
  if (!call.options.retry) return;
  const std::set<std::string> there = store.done();
  std::vector<SuiteCell> failed;
  for (const SuiteCell& cell : cells) {
    if (there.contains(cell.id) && !is_fine(store.row(cell).status)) failed.push_back(cell);
  }
  store.discard(failed);
}

/// Throws ConfigError if the folder has cells but no plan, so that their origin is unknown.
void refuse_planless(const CellCall& call, const CellStore& store) {
  if (begins_anew(call) || planned_seed(call.out) || store.done().empty()) return;
  throw ConfigError(
      fmt::format("{} holds cells but no plan of them, so it is not known what they are of. Name "
                  "another folder with -o, or give --restart, for all cells, to discard them.",
                  call.out));
}

/// The lock group of a call. Calls with different numbers of nodes may share a folder, since they
/// work on different cells.
std::string group_of(const CellOptions& options) {
  return options.nodes ? fmt::format("nodes-{}", *options.nodes) : "all";
}

ExitCode run_here(const CellCall& call, const Where& where, const Plan& plan,
                  const std::vector<SuiteCell>& cells) {
  CellStore store(call.out, group_of(call.options));
  store.open();
  refuse_planless(call, store);
  forget(call, store, cells);
  write_plan(call.out, plan.text);
  if (everything_done(store, cells)) {
    store.write_rows(plan.cells);
    return conclude_cells(store, cells, CellsEnd::finished, call.quiet);
  }
  const CanaryRecord canary(call.out, call.quiet);
  // Keep the results so far, and the state of the machine.
  const auto keep = [&] {
    canary.finish();
    store.write_rows(plan.cells);
  };
  CellsEnd end = CellsEnd::finished;
  try {
    end = carry_out_cells(where.run, store, cells);
  } catch (const Interrupted&) {
    keep();
    throw;
  } catch (const LibraryError&) {
    keep();
    throw;
  }
  keep();
  return conclude_cells(store, cells, end, call.quiet);
}

/// The calls whose jobs are submitted together: the call itself, or one for each node, with its own
/// folder.
std::vector<CellCall> calls_of(const CellCall& call, const Where& where) {
  if (call.options.distribute.empty() || !by_jobs(where)) return {call};
  const std::string& partition = where.run.place.partition.name;
  const std::vector<SlurmNode> nodes = slurm_nodes(partition);
  std::vector<CellCall> calls;
  for (const std::string& node : nodes_to_try(nodes, call.options.distribute, call.out)) {
    calls.push_back(call);
    calls.back().node = node;
    calls.back().out = (fs::path(call.out) / node).string();
  }
  if (!calls.empty()) return calls;
  const bool all = call.options.distribute == "all";
  const std::string unusable = unusable_text(nodes);
  throw Error(
      ExitCode::nothing_measured,
      fmt::format("no node of the partition {} {}, so nothing is measured{}. Run it again later{}.",
                  partition, all ? "can be used" : "is idle",
                  unusable.empty() ? "" : fmt::format(" (not to be used: {})", unusable),
                  all ? "" : ", or give --distribute all"));
}

/// One of the folders that jobs fill.
struct JobsFolder {
  Plan plan;
  std::unique_ptr<CellStore> store;
};

ExitCode conclude_places(const CellCall& call, std::span<const JobsFolder> folders,
                         std::span<const JobsPlace> places) {
  // Exit codes from best to worst.
  constexpr std::array severity{ExitCode::ok, ExitCode::nothing_measured, ExitCode::inconclusive,
                                ExitCode::wrong_result};
  const auto badness = [&](ExitCode code) { return std::ranges::find(severity, code); };
  ExitCode worst = ExitCode::ok;
  for (std::size_t i = 0; i < places.size(); ++i) {
    folders[i].store->write_rows(folders[i].plan.cells);
    if (const std::string& node = places[i].call.node; !node.empty() && !call.quiet) {
      fmt::print(stderr, "dlscale: of {}, in {}:\n", node, places[i].call.out);
    }
    const ExitCode code =
        conclude_cells(*folders[i].store, places[i].cells, CellsEnd::finished, call.quiet);
    worst = std::ranges::max(worst, code, {}, badness);
  }
  return worst;
}

ExitCode run_jobs(const CellCall& call, const Where& where) {
  const std::vector<SuiteCell> cells = chosen(*call.suite, call.options);
  std::vector<JobsFolder> folders;
  std::vector<JobsPlace> places;
  for (const CellCall& one : calls_of(call, where)) {
    JobsFolder folder{make_plan(one, where), std::make_unique<CellStore>(one.out, "submission")};
    folder.store->open();
    refuse_planless(one, *folder.store);
    forget(one, *folder.store, cells);
    write_plan(one.out, folder.plan.text);
    places.push_back({jobs_call(one, where), folder.store.get(), in_order(folder.plan, cells)});
    folders.push_back(std::move(folder));
  }
  if (const std::string& scripts = call.options.write_scripts; !scripts.empty()) {
    for (const JobsPlace& place : places) {
      write_scripts(place.call, place.cells, (fs::path(scripts) / place.call.node).string());
    }
    return ExitCode::ok;
  }
  const bool all_done = std::ranges::all_of(
      places, [](const JobsPlace& place) { return everything_done(*place.store, place.cells); });
  const JobsEnd end = all_done ? JobsEnd{} : submit_and_wait(places);
  const ExitCode code = conclude_places(call, folders, places);
  return end.lost_nodes ? ExitCode::wrong_result : code;
}

}  // namespace

void list_cells(const CellCall& call) {
  const Where where = find_place(call);
  check_job_options(where, call.options);
  const std::vector<SuiteCell> cells = chosen(*call.suite, call.options);
  const Plan plan = make_plan(call, where);
  if (call.options.dry_run) {
    check_hostfile(where);
    check_shapes(cells, where);
    check_distribution(where, call.options);
    if (by_jobs(where)) {
      for (const CellCall& one : calls_of(call, where)) print_scripts(jobs_call(one, where), cells);
    }
  }
  for (const SuiteCell& cell : in_order(plan, cells)) {
    std::vector<std::string> words{"dlscale"};
    if (call.options.dry_run) {
      // Show the command as it will be recorded beside the results.
      words = cell_command(where.run, cell, CellStore(call.out, "").place(cell).string());
    } else {
      words.insert(words.end(), cell.words.begin(), cell.words.end());
    }
    fmt::print("{}: {}\n", cell.name, shell_line(words));
  }
}

void check_cells(const CellCall& call) {
  const Where where = find_place(call);
  check_submission(where, call.options);
  check_job_options(where, call.options);
  check_hostfile(where);
  check_shapes(chosen(*call.suite, call.options), where);
  if (begins_anew(call)) return;
  for (const CellCall& one : calls_of(call, where)) {
    check_plan(one.out, make_plan(one, where).text);
  }
}

ExitCode run_cells(const CellCall& call) {
  const Where where = find_place(call);
  if (by_jobs(where)) return run_jobs(call, where);
  const Plan plan = make_plan(call, where);
  return run_here(call, where, plan, in_order(plan, chosen(*call.suite, call.options)));
}

}  // namespace dlscale::suite
