#include "suite/run_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>
#include <utility>

#include "core/base/interrupt.hpp"
#include "core/system/input_file.hpp"
#include "core/system/output_file.hpp"
#include "core/text/numbers.hpp"
#include "core/text/shell_words.hpp"
#include "suite/cells/runner.hpp"
#include "suite/job/job.hpp"
#include "suite/launch/allocation.hpp"
#include "suite/launch/batch_script.hpp"
#include "suite/launch/slurm.hpp"

namespace dlscale::suite {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

/// Number of nodes → the cells that run on it.
using Groups = std::map<int, std::vector<SuiteCell>>;

Groups by_nodes(std::span<const SuiteCell> cells) {
  Groups groups;
  for (const SuiteCell& cell : cells) groups[cell.shape.nodes].push_back(cell);
  return groups;
}

std::string group_name(int nodes) {
  return fmt::format("nodes-{}", nodes);
}

/// A part of a job name, which has limited length and characters.
std::string name_part(const std::string& text) {
  std::string name;
  for (const char c : text.substr(0, 40)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    name += plain ? c : '_';
  }
  return name;
}

std::string job_name(const JobsCall& call, int nodes) {
  return fmt::format("dlscale-{}-{}", name_part(call.suite),
                     call.node.empty() ? std::to_string(nodes) : name_part(call.node));
}

std::string script_of(const JobsCall& call, int nodes, const std::vector<SuiteCell>& cells) {
  BatchJob job;
  job.name = job_name(call, nodes);
  job.nodes = nodes;
  for (const SuiteCell& cell : cells) {
    const LaunchShape& shape = cell.shape;
    job.cores_per_node = std::max(job.cores_per_node, shape.ranks_per_node * shape.threads);
    job.gpus_per_node = std::max(job.gpus_per_node, shape.ranks_per_node * shape.gpus_per_rank);
  }
  job.log = (fs::absolute(call.out) / "jobs" / (group_name(nodes) + ".log")).lexically_normal();
  job.node = call.node;
  job.command = call.command;
  job.command.insert(job.command.end(), {"--nodes", std::to_string(nodes)});
  job.options = call.options;
  Partition partition = call.partition;
  // The rows of cells record the submission options of their job.
  if (!call.options.empty()) {
    partition.environment.insert_or_assign(job_options_variable,
                                           nlohmann::json(call.options).dump());
  }
  if (const char* configs = std::getenv("DLSCALE_CONFIGS"); configs != nullptr) {
    partition.environment.emplace("DLSCALE_CONFIGS", fs::absolute(configs).string());
  }
  return batch_script(call.system, partition, job);
}

/// A job that was submitted, or will be, in this call or an earlier one.
struct QueuedJob {
  const JobsPlace* place = nullptr;
  int nodes = 1;
  std::vector<SuiteCell> cells;  ///< cells that run on this number of nodes
  std::string number;            ///< job number, once submitted
  std::string told;              ///< last printed reason of waiting

  [[nodiscard]] fs::path file(const char* ending) const {
    return fs::path(place->call.out) / "jobs" / (group_name(nodes) + ending);
  }
  [[nodiscard]] std::string script() const { return script_of(place->call, nodes, cells); }
  [[nodiscard]] std::size_t left() const {
    const std::set<std::string> there = place->store->done();
    return static_cast<std::size_t>(std::ranges::count_if(
        cells, [&there](const SuiteCell& cell) { return !there.contains(cell.id); }));
  }
  [[nodiscard]] std::string where() const {
    return place->call.node.empty() ? counted(nodes, "node") : place->call.node;
  }
};

std::string cells_text(std::size_t count) {
  return counted(static_cast<long long>(count), "cell");
}

std::size_t cells_in(std::span<const JobsPlace> places) {
  std::size_t count = 0;
  for (const JobsPlace& place : places) count += place.cells.size();
  return count;
}

class Jobs {
 public:
  explicit Jobs(std::span<const JobsPlace> places)
      : places_(places),
        partition_(places.front().call.partition),
        cells_(cells_in(places)),
        line_(places.front().call.progress) {}

  JobsEnd carry_out() {
    std::vector<QueuedJob> waiting = jobs_to_submit();
    while (!waiting.empty() || !running_.empty()) {
      throw_interrupted();
      const std::size_t most =
          partition_.max_jobs > 0 ? static_cast<std::size_t>(partition_.max_jobs) : 1000;
      while (!waiting.empty() && running_.size() < most) {
        submit(std::move(waiting.front()));
        waiting.erase(waiting.begin());
      }
      look_at_jobs();
      show();
      if (!running_.empty()) rest(milliseconds(2000));
    }
    line_.clear();
    return end_;
  }

 private:
  /// The number of a job of an earlier call that still waits or runs; empty if there is none.
  [[nodiscard]] std::string earlier_job(const QueuedJob& job) {
    std::ifstream stream(job.file(".job"));
    std::string text;
    std::getline(stream, text);
    const std::string number = parse_submission(text);
    if (number.empty() || ask_about(number).ended()) return {};
    return number;
  }

  /// A note if the job of an earlier call was submitted with a different script.
  [[nodiscard]] static std::string other_script(const QueuedJob& job) {
    if (content_of(job.file(".sh")) == job.script()) return "";
    return fmt::format("; its script differs from this call's, which \"scancel {}\" makes way for",
                       job.number);
  }

  /// Reports jobs that need more usable nodes than the partition has.
  std::vector<QueuedJob> jobs_to_submit() {
    const std::vector<SlurmNode> nodes = slurm_nodes(partition_.name);
    std::vector<QueuedJob> waiting;
    for (const JobsPlace& place : places_) {
      for (auto& [count, cells] : by_nodes(place.cells)) {
        QueuedJob job{&place, count, cells, "", ""};
        if (job.left() == 0) continue;
        job.number = earlier_job(job);
        if (!job.number.empty()) {
          fmt::print(stderr, "dlscale: waiting for job {} of an earlier call ({}){}\n", job.number,
                     job.where(), other_script(job));
          running_.push_back(std::move(job));
        } else if (has_room(nodes, job)) {
          waiting.push_back(std::move(job));
        } else {
          tell_want_of_nodes(nodes, job);
        }
      }
    }
    return waiting;
  }

  static std::ptrdiff_t usable(const std::vector<SlurmNode>& nodes) {
    return std::ranges::count_if(nodes, &SlurmNode::usable);
  }

  static bool has_room(const std::vector<SlurmNode>& nodes, const QueuedJob& job) {
    if (job.place->call.node.empty()) return job.nodes <= usable(nodes);
    const auto node = std::ranges::find(nodes, job.place->call.node, &SlurmNode::name);
    return node != nodes.end() && node->usable();
  }

  void tell_want_of_nodes(const std::vector<SlurmNode>& nodes, const QueuedJob& job) {
    end_.lost_nodes = true;
    const std::string unusable = unusable_text(nodes);
    fmt::print(stderr,
               "dlscale: {} of {} cannot start: partition {} has {} that can be used{}. Run the "
               "same command again when there are enough.\n",
               cells_text(job.left()), job.where(), partition_.name, counted(usable(nodes), "node"),
               unusable.empty() ? "" : ", and not " + unusable);
  }

  void submit(QueuedJob job) {
    const fs::path script = fs::absolute(job.file(".sh")).lexically_normal();
    write_for_good(script, job.script());
    const std::size_t cells = job.left();
    job.number = submit_to_slurm(script.string());
    write_for_good(job.file(".job"), job.number + "\n");
    line_.clear();
    fmt::print(stderr, "dlscale: job {} submitted: {} on {}\n", job.number, cells_text(cells),
               job.where());
    running_.push_back(std::move(job));
  }

  /// Asks repeatedly, within limits: a controller that is briefly silent says nothing about the
  /// job, which may have been waited for for hours.
  SlurmJob ask_about(const std::string& number) {
    Patience patience;
    for (;;) {
      try {
        return slurm_job(number);
      } catch (const LibraryError& error) {
        const bool is_first = patience.is_new();
        const auto pause = patience.next_pause();
        if (!pause) throw;
        if (is_first) tell_silence(error);
        rest(*pause);
        throw_interrupted();
      }
    }
  }

  void tell_silence(const LibraryError& error) {
    line_.clear();
    fmt::print(stderr, "dlscale: {} This one asks again for up to {} min.\n", error.what(),
               std::chrono::duration_cast<std::chrono::minutes>(Patience::most).count());
  }

  /// Sleeps until the time is over or a signal comes.
  static void rest(milliseconds time) {
    constexpr milliseconds step{200};
    for (; time > milliseconds(0) && pending_signal() == 0; time -= step) {
      std::this_thread::sleep_for(std::min(step, time));
    }
  }

  /// Text of a function about the partition's nodes; nothing if Slurm does not answer.
  template <class Text>
  [[nodiscard]] std::string about_nodes(const Text& text) const {
    try {
      return text(slurm_nodes(partition_.name));
    } catch (const LibraryError&) {
      return {};
    }
  }

  void look_at_jobs() {
    for (QueuedJob& job : running_) {
      const SlurmJob now = ask_about(job.number);
      if (now.ended()) {
        tell_end(job, now);
        job.number.clear();
      } else {
        tell_waiting(job, now);
      }
    }
    std::erase_if(running_, [](const QueuedJob& job) { return job.number.empty(); });
  }

  /// Reports each reason once, except that other jobs come first (Priority, Resources).
  void tell_waiting(QueuedJob& job, const SlurmJob& now) {
    const bool of_interest = now.state == "PENDING" && !now.reason.empty() &&
                             now.reason != "None" && now.reason != "Priority" &&
                             now.reason != "Resources";
    if (!of_interest || now.reason == job.told) return;
    job.told = now.reason;
    line_.clear();
    const std::string unusable = about_nodes(unusable_text);
    fmt::print(stderr, "dlscale: job {} waits: {}{}\n", job.number, now.reason,
               unusable.empty() ? "" : "; not to be used: " + unusable);
  }

  /// Reports the end of a job; files written by its nodes may appear here a little later.
  void tell_end(const QueuedJob& job, const SlurmJob& now) {
    for (int look = 0; look < 10 && now.state == "COMPLETED" && job.left() > 0; ++look) {
      std::this_thread::sleep_for(milliseconds(300));
    }
    line_.clear();
    const std::size_t cells = job.left();
    if (cells == 0) {
      fmt::print(stderr, "dlscale: job {} has carried out its cells\n", job.number);
      return;
    }
    const std::string lost = about_nodes(lost_text);
    if (now.state == "NODE_FAIL" || !lost.empty()) end_.lost_nodes = true;
    fmt::print(stderr, "dlscale: job {} ended early ({}{}){}: {} left. What it said is in {}\n",
               job.number, now.state.empty() ? "Slurm does not know it any more" : now.state,
               now.reason.empty() || now.reason == "None" ? "" : ", " + now.reason,
               lost.empty() ? "" : "; lost: " + lost, cells_text(cells), job.file(".log").string());
  }

  void show() {
    std::vector<double> estimates;
    for (const JobsPlace& place : places_) {
      for (const SuiteCell& cell : place.cells) estimates.push_back(cell.seconds);
    }
    TimeLeft left(estimates);
    std::size_t done = 0;
    for (const JobsPlace& place : places_) {
      const std::set<std::string> there = place.store->done();
      for (const SuiteCell& cell : place.cells) {
        if (!there.contains(cell.id)) continue;
        ++done;
        left.finished(cell.seconds, place.store->row(cell).seconds);
      }
    }
    const std::string now = counted(static_cast<long long>(running_.size()), "job") + " under way";
    line_.show(cell_progress(done, cells_, now, left.seconds()));
  }

  void throw_interrupted() {
    const int signal = pending_signal();
    if (signal == 0) return;
    line_.clear();
    std::vector<std::string> numbers;
    for (const QueuedJob& job : running_) numbers.push_back(job.number);
    if (!numbers.empty()) {
      fmt::print(
          stderr,
          "dlscale: the jobs go on; the same command waits for them again, and \"scancel {}\" "
          "ends them\n",
          fmt::join(numbers, " "));
    }
    throw Interrupted(signal);
  }

  std::span<const JobsPlace> places_;
  const Partition& partition_;
  std::size_t cells_;
  ProgressLine line_;
  std::vector<QueuedJob> running_;
  JobsEnd end_;
};

}  // namespace

void print_scripts(const JobsCall& call, std::span<const SuiteCell> cells) {
  const std::string folder = call.node.empty() ? "" : call.node + "/";
  for (const auto& [nodes, group] : by_nodes(cells)) {
    fmt::print("# {}{}.sh\n{}\n", folder, group_name(nodes), script_of(call, nodes, group));
  }
}

ExitCode write_scripts(const JobsCall& call, std::span<const SuiteCell> cells,
                       const std::string& folder) {
  make_folder(fs::path(call.out) / "jobs");  // for the jobs' logs
  for (const auto& [nodes, group] : by_nodes(cells)) {
    const fs::path path = fs::path(folder) / (group_name(nodes) + ".sh");
    write_for_good(path, script_of(call, nodes, group));
    fmt::print("{}\n", shell_line(submission(call.system.scheduler, path.string())));
  }
  return ExitCode::ok;
}

JobsEnd submit_and_wait(std::span<const JobsPlace> places) {
  return Jobs(places).carry_out();
}

}  // namespace dlscale::suite
