#include "app/run_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "app/cells/durable.hpp"
#include "app/launch/allocation.hpp"
#include "app/launch/batch_script.hpp"
#include "app/launch/slurm.hpp"
#include "app/settings_file.hpp"
#include "app/suite_progress.hpp"
#include "backend/comm/launch.hpp"
#include "core/interrupt.hpp"
#include "report/numbers.hpp"

namespace dlscale::app {
namespace {

namespace fs = std::filesystem;
using report::counted;
using std::chrono::milliseconds;

/// Nodes → the cells that run on so many.
using Groups = std::map<int, std::vector<SuiteCell>>;

Groups by_nodes(std::span<const SuiteCell> cells) {
  Groups groups;
  for (const SuiteCell& cell : cells) groups[cell.shape.nodes].push_back(cell);
  return groups;
}

std::string group_name(int nodes) {
  return fmt::format("nodes-{}", nodes);
}

/// Names of jobs are words of limited length and characters.
std::string job_name(const std::string& suite, int nodes) {
  std::string name = "dlscale-";
  for (const char c : suite.substr(0, 40)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '_';
  }
  return fmt::format("{}-{}", name, nodes);
}

std::string script_of(const JobsCall& call, int nodes, const std::vector<SuiteCell>& cells) {
  BatchJob job;
  job.name = job_name(call.suite, nodes);
  job.nodes = nodes;
  for (const SuiteCell& cell : cells) {
    const LaunchShape& shape = cell.shape;
    job.cores_per_node = std::max(job.cores_per_node, shape.ranks_per_node * shape.threads);
    job.gpus_per_node = std::max(job.gpus_per_node, shape.ranks_per_node * shape.gpus_per_rank);
  }
  job.log = (fs::absolute(call.out) / "jobs" / (group_name(nodes) + ".log")).lexically_normal();
  job.command = call.command;
  job.command.insert(job.command.end(), {"--nodes", std::to_string(nodes)});
  job.options = call.options;
  Partition partition = call.partition;
  // By what a job was submitted stands in the rows of its cells.
  if (!call.options.empty()) {
    partition.environment.insert_or_assign(job_options_variable,
                                           nlohmann::json(call.options).dump());
  }
  // The command of the job is whole, wherever and whenever it runs.
  partition.environment.emplace(settings_variable, "off");
  if (const char* configs = std::getenv("DLSCALE_CONFIGS"); configs != nullptr) {
    partition.environment.emplace("DLSCALE_CONFIGS", fs::absolute(configs).string());
  }
  return batch_script(call.system, partition, job);
}

std::string shell_text(const std::vector<std::string>& words) {
  std::string joined;
  for (const std::string& word : words) joined += word + '\0';
  return backend::shell_text(joined);
}

/// A job that was submitted, in this call or an earlier one.
struct Job {
  int nodes = 1;
  std::string number;
  std::string told;  ///< why it waits, as was said last
};

class Jobs {
 public:
  Jobs(const JobsCall& call, const CellStore& store, std::span<const SuiteCell> cells)
      : call_(call),
        store_(store),
        cells_(cells.begin(), cells.end()),
        line_(call.progress, cells.size()) {}

  JobsEnd carry_out() {
    std::vector<int> waiting = groups_to_submit();
    while (!waiting.empty() || !running_.empty()) {
      throw_interrupted();
      const std::size_t most =
          call_.partition.max_jobs > 0 ? static_cast<std::size_t>(call_.partition.max_jobs) : 1000;
      while (!waiting.empty() && running_.size() < most) {
        submit(waiting.front());
        waiting.erase(waiting.begin());
      }
      look_at_jobs();
      show();
      for (int i = 0; i < 10 && !running_.empty() && pending_signal() == 0; ++i) {
        std::this_thread::sleep_for(milliseconds(200));
      }
    }
    line_.clear();
    return end_;
  }

 private:
  [[nodiscard]] fs::path file(int nodes, const char* ending) const {
    return fs::path(call_.out) / "jobs" / (group_name(nodes) + ending);
  }

  [[nodiscard]] std::size_t left(int nodes) const {
    const std::set<std::string> there = store_.done();
    return static_cast<std::size_t>(std::ranges::count_if(cells_, [&](const SuiteCell& cell) {
      return cell.shape.nodes == nodes && !there.contains(cell.id);
    }));
  }

  /// The number of a job of an earlier call that still waits or runs; empty if there is none.
  [[nodiscard]] std::string earlier_job(int nodes) const {
    std::ifstream stream(file(nodes, ".job"));
    std::string text;
    std::getline(stream, text);
    const std::string number = parse_submission(text);
    if (number.empty() || slurm_job(number).ended()) return {};
    return number;
  }

  /// What is to be said where the job of an earlier call was asked for in another way.
  [[nodiscard]] std::string other_script(int nodes, const std::string& number) const {
    std::ifstream stream(file(nodes, ".sh"), std::ios::binary);
    const std::string submitted{std::istreambuf_iterator<char>(stream), {}};
    if (submitted == script_of(call_, nodes, by_nodes(cells_).at(nodes))) return "";
    return fmt::format("; its script differs from this call's, which \"scancel {}\" makes way for",
                       number);
  }

  /// Numbers of nodes. Those that the partition has not enough usable nodes for are told of.
  std::vector<int> groups_to_submit() {
    const std::vector<SlurmNode> nodes = slurm_nodes(call_.partition.name);
    const auto usable = std::ranges::count_if(nodes, &SlurmNode::usable);
    std::vector<int> waiting;
    for (const auto& [count, cells] : by_nodes(cells_)) {
      if (left(count) == 0) continue;
      if (const std::string number = earlier_job(count); !number.empty()) {
        fmt::print(stderr, "dlscale: waiting for job {} of an earlier call ({}){}\n", number,
                   counted(count, "node"), other_script(count, number));
        running_.push_back({count, number, ""});
      } else if (count > usable) {
        end_.lost_nodes = true;
        const std::string unusable = unusable_text(nodes);
        fmt::print(
            stderr,
            "dlscale: {} of {} cannot start: partition {} has {} that can be used{}. Run the "
            "same command again when there are enough.\n",
            counted(static_cast<long long>(left(count)), "cell"), counted(count, "node"),
            call_.partition.name, counted(usable, "node"),
            unusable.empty() ? "" : ", and not " + unusable);
      } else {
        waiting.push_back(count);
      }
    }
    return waiting;
  }

  void submit(int nodes) {
    const fs::path script = fs::absolute(file(nodes, ".sh")).lexically_normal();
    write_for_good(script, script_of(call_, nodes, by_nodes(cells_).at(nodes)));
    const std::string number = submit_to_slurm(script.string());
    write_for_good(file(nodes, ".job"), number + "\n");
    line_.clear();
    fmt::print(stderr, "dlscale: job {} submitted: {} on {}\n", number,
               counted(static_cast<long long>(left(nodes)), "cell"), counted(nodes, "node"));
    running_.push_back({nodes, number, ""});
  }

  void look_at_jobs() {
    for (Job& job : running_) {
      const SlurmJob now = slurm_job(job.number);
      if (now.ended()) {
        tell_end(job, now);
        job.number.clear();
      } else {
        tell_waiting(job, now);
      }
    }
    std::erase_if(running_, [](const Job& job) { return job.number.empty(); });
  }

  /// Once for each reason; that others come first is none.
  void tell_waiting(Job& job, const SlurmJob& now) {
    const bool of_interest = now.state == "PENDING" && !now.reason.empty() &&
                             now.reason != "None" && now.reason != "Priority" &&
                             now.reason != "Resources";
    if (!of_interest || now.reason == job.told) return;
    job.told = now.reason;
    line_.clear();
    const std::string unusable = unusable_text(slurm_nodes(call_.partition.name));
    fmt::print(stderr, "dlscale: job {} waits: {}{}\n", job.number, now.reason,
               unusable.empty() ? "" : "; not to be used: " + unusable);
  }

  /// The files that the nodes of a job have written may be seen here a little later.
  void tell_end(const Job& job, const SlurmJob& now) {
    for (int look = 0; look < 10 && now.state == "COMPLETED" && left(job.nodes) > 0; ++look) {
      std::this_thread::sleep_for(milliseconds(300));
    }
    line_.clear();
    const std::size_t cells = left(job.nodes);
    if (cells == 0) {
      fmt::print(stderr, "dlscale: job {} has carried out its cells\n", job.number);
      return;
    }
    const std::string lost = lost_text(slurm_nodes(call_.partition.name));
    if (now.state == "NODE_FAIL" || !lost.empty()) end_.lost_nodes = true;
    fmt::print(stderr, "dlscale: job {} ended early ({}{}){}: {} left. What it said is in {}\n",
               job.number, now.state.empty() ? "Slurm does not know it any more" : now.state,
               now.reason.empty() || now.reason == "None" ? "" : ", " + now.reason,
               lost.empty() ? "" : "; lost: " + lost,
               counted(static_cast<long long>(cells), "cell"), file(job.nodes, ".log").string());
  }

  void show() {
    const std::set<std::string> there = store_.done();
    std::vector<double> estimates;
    for (const SuiteCell& cell : cells_) estimates.push_back(cell.seconds);
    TimeLeft left(estimates);
    std::size_t done = 0;
    for (const SuiteCell& cell : cells_) {
      if (!there.contains(cell.id)) continue;
      ++done;
      left.finished(cell.seconds, store_.row(cell).seconds);
    }
    line_.show(done, counted(static_cast<long long>(running_.size()), "job") + " under way",
               left.seconds());
  }

  void throw_interrupted() {
    const int signal = pending_signal();
    if (signal == 0) return;
    line_.clear();
    std::vector<std::string> numbers;
    for (const Job& job : running_) numbers.push_back(job.number);
    if (!numbers.empty()) {
      fmt::print(
          stderr,
          "dlscale: the jobs go on; the same command waits for them again, and \"scancel {}\" "
          "ends them\n",
          fmt::join(numbers, " "));
    }
    throw Interrupted(signal);
  }

  const JobsCall& call_;
  const CellStore& store_;
  std::vector<SuiteCell> cells_;
  CellProgressLine line_;
  std::vector<Job> running_;
  JobsEnd end_;
};

}  // namespace

void print_scripts(const JobsCall& call, std::span<const SuiteCell> cells) {
  for (const auto& [nodes, group] : by_nodes(cells)) {
    fmt::print("# {}.sh\n{}\n", group_name(nodes), script_of(call, nodes, group));
  }
}

ExitCode write_scripts(const JobsCall& call, std::span<const SuiteCell> cells,
                       const std::string& folder) {
  make_folder(fs::path(call.out) / "jobs");  // for their logs
  for (const auto& [nodes, group] : by_nodes(cells)) {
    const fs::path path = fs::path(folder) / (group_name(nodes) + ".sh");
    write_for_good(path, script_of(call, nodes, group));
    fmt::print("{}\n", shell_text(submission(call.system.scheduler, path.string())));
  }
  return ExitCode::ok;
}

JobsEnd submit_and_wait(const JobsCall& call, const CellStore& store,
                        std::span<const SuiteCell> cells) {
  return Jobs(call, store, cells).carry_out();
}

}  // namespace dlscale::app
