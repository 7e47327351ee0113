#include "model/plan/iteration_grid.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include "core/base/error.hpp"
#include "core/network/relu_fusion.hpp"
#include "core/network/step.hpp"
#include "model/plan/batched_form.hpp"
#include "model/plan/placed_messages.hpp"
#include "model/sgd_iter/costs/costs.hpp"
#include "model/sgd_iter/costs/input_pipeline.hpp"
#include "model/sgd_iter/kernels/memory.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

constexpr double absent = std::numeric_limits<double>::quiet_NaN();

/// Adjacent numbers of ranks of the space with the same number of ranks on a node.
struct Alike {
  std::size_t first = 0;
  std::size_t count = 0;
};

/// Configurations to be simulated.
struct Job {
  std::size_t exchange = 0;
  std::size_t batch = 0;
  Alike ranks;
};

class Grid {
 public:
  Grid(const Network& network, const Machine& machine, const Run& run, const PlanSpace& space);
  IterationGrid find();

 private:
  /// Times of the messages of a cut, by number of ranks, where they are not lines in the size.
  using TimesOfCut = std::vector<std::vector<double>>;
  /// Times of messages by servers: all reduces, then the update, then all broadcasts.
  struct Served {
    ServedMessages messages;
    double update = 0;
  };
  using ServedCut = std::vector<std::optional<Served>>;  ///< by number of ranks

  [[nodiscard]] Run run_on(int ranks, int batch, const Exchange& exchange) const;
  [[nodiscard]] std::vector<Alike> alike() const;
  [[nodiscard]] std::vector<Alike> alike_with(std::size_t batch) const;
  [[nodiscard]] bool fits(const Run& run);
  [[nodiscard]] double simulated(const Run& run, Notes& notes) const;
  [[nodiscard]] Profile find_profile(int ranks, int batch, Notes& notes) const;
  void find_alone();
  void find_alone_with_all();
  void place_ranks();
  void add(std::size_t batch, const Alike& ranks);
  [[nodiscard]] Alike with_servers(const Exchange& exchange, const Alike& ranks);
  void add_by_form(std::size_t exchange, std::size_t batch, const Alike& ranks,
                   const Profile& profile, Travel travel);
  void add_cut(std::size_t exchange, const Alike& ranks, const Profile& profile, Travel travel,
               std::span<double> row);
  void add_served(std::size_t exchange, const Alike& ranks, const Profile& profile, Travel travel,
                  std::span<double> row);
  const Served& served(std::size_t exchange, std::size_t rank, const Cut& messages, Travel travel);
  void add_merged(Schedule schedule, const Alike& ranks, const Profile& profile,
                  std::span<double> row);
  double merged(Schedule schedule, std::size_t rank, const Profile& profile,
                std::span<const ReadyGradient> gradients);
  LinearCost fitted_line(std::size_t rank, const Profile& profile);
  void simulate();
  void simulate(const Job& job);
  [[nodiscard]] Cut find_cut(const Exchange& exchange, const Profile& profile) const;
  std::span<double> row_of(std::size_t exchange, std::size_t batch, const Alike& ranks);

  void apply_level(const Alike& ranks, std::span<double> row) const;

  Network network_;
  const Machine* machine_;
  Machine bare_;          ///< without the level of measured points
  double computing_ = 1;  ///< factor of these points
  Run run_;
  IterationGrid grid_;
  bool has_lines_ = true;               ///< the time of every message is a line in its size
  std::vector<PlacedMessages> placed_;  ///< by number of ranks
  std::vector<double> startup_;         ///< by number of ranks, where times are lines
  std::vector<double> per_byte_;
  std::vector<double> barrier_;
  std::vector<RankDelays> delays_;  ///< by data sheets; all without any for measured machines
  std::vector<double> storage_;     ///< for the current batch
  std::vector<TimesOfCut> times_;   ///< by exchange, where times are not lines
  std::vector<ServedCut> served_;   ///< by exchange, for those by servers
  /// Lines by which groups are planned, by number of ranks.
  std::vector<std::optional<LinearCost>> fitted_lines_;
  MergedCuts merged_cuts_;
  std::vector<Job> jobs_;
};

Grid::Grid(const Network& network, const Machine& machine, const Run& run, const PlanSpace& space)
    : network_(as_run(network, run)), machine_(&machine), bare_(machine), run_(run) {
  if (machine.level) computing_ = machine.level->computing;
  bare_.level.reset();
  check(space);
  grid_.space = space;
}

Run Grid::run_on(int ranks, int batch, const Exchange& exchange) const {
  Run run = run_;
  run.ranks = ranks;
  run.batch = batch;
  apply(exchange, run);
  check(run);
  return run;
}

std::vector<Alike> Grid::alike() const {
  const std::vector<int>& ranks = grid_.space.ranks;
  std::vector<Alike> groups;
  const auto on_node = [&](std::size_t i) {
    return Placement{ranks[i], run_.ranks_per_node}.ranks_on_node();
  };
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    const bool next = i == 0 || ranks[i - 1] == 1 || on_node(i) != on_node(i - 1);
    if (next) groups.push_back({i, 0});
    ++groups.back().count;
  }
  return groups;
}

/// With a global batch, the one number of ranks that has this share of it.
std::vector<Alike> Grid::alike_with(std::size_t batch) const {
  const PlanSpace& space = grid_.space;
  if (!space.global_batch) return alike();
  for (std::size_t i = 0; i < space.ranks.size(); ++i) {
    if (space.has(space.ranks[i], space.batches[batch])) return {{i, 1}};
  }
  return {};
}

/// Whether the memory holds the run; notes it if not.
bool Grid::fits(const Run& run) {
  const Bytes memory = memory_of_rank(machine_->cluster, run);
  if (memory <= Bytes()) return true;
  const Bytes need = memory_need(network_, machine_->cluster.device.kind, run,
                                 memory_traits(network_, run.dtype, machine_->software))
                         .total();
  if (need <= memory) return true;
  std::string what = fmt::format("batch {}: needs about {:.4g} GB of the {:.4g} GB of each rank",
                                 run.batch, need.si() / 1e9, memory.si() / 1e9);
  if (std::ranges::find(grid_.left_out, what) == grid_.left_out.end()) {
    grid_.left_out.push_back(std::move(what));
  }
  return false;
}

Profile Grid::find_profile(int ranks, int batch, Notes& notes) const {
  const Run run = run_on(ranks, batch, {});
  IterationCosts costs = without_delays(iteration_costs(network_, bare_, run, notes));
  costs.computing = computing_;
  return profile_of(costs.plan({}, Bound::value));
}

/// Multiplies iterations by what the factors of measured points leave.
void Grid::apply_level(const Alike& ranks, std::span<double> row) const {
  if (!machine_->level) return;
  for (std::size_t i = 0; i < ranks.count; ++i) {
    const MeasuredLevel::Factors factors = machine_->level->at(grid_.space.ranks[ranks.first + i]);
    row[i] = factors.left * row[i] + factors.wait.si();
  }
}

/// Returns t_iter by the task graph.
double Grid::simulated(const Run& run, Notes& notes) const {
  const IterationCosts costs = iteration_costs(network_, *machine_, run, notes);
  return simulate_iteration(costs.plan({}, Bound::value)).total.si();
}

void Grid::find_alone() {
  for (const int batch : grid_.space.batches) {
    const Run run = run_on(1, batch, {});
    if (!fits(run)) {
      grid_.alone.push_back(absent);
      continue;
    }
    Notes notes;
    grid_.alone.push_back(simulated(run, notes));
  }
  find_alone_with_all();
}

/// Stays NaN if one rank cannot run that many images, or its memory does not hold them.
void Grid::find_alone_with_all() {
  const auto all = grid_.space.global_batch;
  if (!all || *all > std::numeric_limits<int>::max()) return;
  Run run = run_on(1, 1, {});
  run.batch = static_cast<int>(*all);
  try {
    check(run);
  } catch (const ConfigError&) {
    return;
  }
  const Bytes memory = memory_of_rank(machine_->cluster, run);
  const Bytes need = memory_need(network_, machine_->cluster.device.kind, run,
                                 memory_traits(network_, run.dtype, machine_->software))
                         .total();
  if (memory > Bytes() && need > memory) return;
  Notes notes;
  grid_.alone_with_all = simulated(run, notes);
}

void Grid::place_ranks() {
  for (const int ranks : grid_.space.ranks) {
    const Placement placement{ranks, run_.ranks_per_node};
    PlacedMessages& placed = placed_.emplace_back(*machine_, placement);
    has_lines_ &= placed.line().has_value();
    barrier_.push_back(placed.barrier());
    delays_.push_back(rank_delays(*machine_, placement, network_));
  }
  if (has_lines_) {
    for (const PlacedMessages& placed : placed_) {
      startup_.push_back(placed.line().value().a.si());
      per_byte_.push_back(placed.line().value().b.si());
    }
  }
  storage_.resize(placed_.size());
  fitted_lines_.resize(placed_.size());
  times_.assign(grid_.space.exchanges.size(), TimesOfCut(placed_.size()));
  served_.assign(grid_.space.exchanges.size(), ServedCut(placed_.size()));
}

std::span<double> Grid::row_of(std::size_t exchange, std::size_t batch, const Alike& ranks) {
  return std::span(grid_.iteration)
      .subspan(grid_.index({exchange, batch, ranks.first}), ranks.count);
}

IterationGrid Grid::find() {
  for (const int batch : grid_.space.batches) {
    for (const int ranks : {grid_.space.ranks.front(), grid_.space.ranks.back()}) {
      static_cast<void>(run_on(ranks, batch, {}));  // refuses an invalid run
    }
  }
  const PlanSpace& space = grid_.space;
  const std::size_t places = space.ranks.size() * space.batches.size() * space.exchanges.size();
  grid_.iteration.assign(places, absent);
  grid_.simulated.assign(places, false);
  find_alone();
  place_ranks();
  for (std::size_t batch = 0; batch < grid_.space.batches.size(); ++batch) {
    for (const Alike& ranks : alike_with(batch)) add(batch, ranks);
  }
  simulate();
  return std::move(grid_);
}

void Grid::add(std::size_t batch, const Alike& ranks) {
  const int images = grid_.space.batches[batch];
  const int first = grid_.space.ranks[ranks.first];
  if (!fits(run_on(first, images, {}))) return;
  Notes notes;
  const Profile here = find_profile(first, images, notes);
  for (std::size_t i = ranks.first; i < ranks.first + ranks.count; ++i) {
    const Placement placement{grid_.space.ranks[i], run_.ranks_per_node};
    const Bytes stored = stored_size(*machine_, network_);
    storage_[i] = storage_time(*machine_, placement, images, stored).si();
  }
  // Not all numbers of ranks may contend, but the profile is that of one of them.
  const bool may_contend =
      !machine_->contention.empty() && machine_->cluster.device.kind == DeviceKind::cpu;
  for (std::size_t e = 0; e < grid_.space.exchanges.size(); ++e) {
    const Exchange& exchange = grid_.space.exchanges[e];
    const Alike some = with_servers(exchange, ranks);
    if (some.count == 0) continue;
    const auto travel = travel_of(exchange);
    std::string why;
    if (!travel) {
      why = fmt::format("{} has no batched form", schedule_name(exchange.schedule));
    } else if (may_contend && *travel == Travel::beside_backward) {
      why = "computing and messages slow one another down";
    } else {
      why = here.absent(*travel);
    }
    if (why.empty()) {
      add_by_form(e, batch, some, here, *travel);
    } else {
      grid_.why_simulated.insert(why);
      jobs_.push_back({e, batch, some});
    }
  }
}

/// Returns the ranks that are enough for the servers, and notes it if some are not.
Alike Grid::with_servers(const Exchange& exchange, const Alike& ranks) {
  Alike some = ranks;
  const auto fit = [&](std::size_t rank) {
    return goes_with_ranks(exchange, {grid_.space.ranks[rank], run_.ranks_per_node});
  };
  while (some.count > 0 && !fit(some.first)) {
    ++some.first;
    --some.count;
  }
  if (some.count == ranks.count) return some;
  std::string what = fmt::format("{}: not on fewer ranks than that", exchange_text(exchange));
  if (std::ranges::find(grid_.too_few, what) == grid_.too_few.end()) {
    grid_.too_few.push_back(std::move(what));
  }
  return some;
}

Cut Grid::find_cut(const Exchange& exchange, const Profile& profile) const {
  if (exchange.schedule != Schedule::bucketed) return cut_singly(profile.gradients);
  const auto [first, others] = bucket_limits(exchange, run_.settings);
  return cut_in_buckets(profile.gradients, first, others);
}

void Grid::add_by_form(std::size_t exchange, std::size_t batch, const Alike& ranks,
                       const Profile& profile, Travel travel) {
  const Schedule schedule = grid_.space.exchanges[exchange].schedule;
  const std::span<double> result = row_of(exchange, batch, ranks);
  if (grid_.space.exchanges[exchange].by_server() && grid_.space.ranks[ranks.first] > 1) {
    add_served(exchange, ranks, profile, travel, result);
  } else if (is_merged(schedule) && !profile.gradients.empty()) {
    add_merged(schedule, ranks, profile, result);
  } else {
    add_cut(exchange, ranks, profile, travel, result);
  }
  apply_level(ranks, result);
  grid_.by_form += ranks.count;
}

/// Adds configurations whose messages are the same on all numbers of ranks.
void Grid::add_cut(std::size_t exchange, const Alike& ranks, const Profile& profile, Travel travel,
                   std::span<double> row) {
  const Cut messages = find_cut(grid_.space.exchanges[exchange], profile);
  if (has_lines_) {
    const auto of = [&](const std::vector<double>& all) {
      return std::span(all).subspan(ranks.first, ranks.count);
    };
    MessageLines lines{of(startup_), of(per_byte_), of(barrier_), of(storage_)};
    if (!machine_->fitted) lines.delays = std::span(delays_).subspan(ranks.first, ranks.count);
    BatchedForm(profile, messages, travel).iterations(lines, row);
    return;
  }
  for (std::size_t i = 0; i < ranks.count; ++i) {
    const std::size_t rank = ranks.first + i;
    std::vector<double>& times = times_[exchange][rank];
    if (times.size() != messages.messages()) {
      for (const double bytes : messages.bytes) {
        times.push_back(placed_[rank].time(travel, bytes));
      }
    }
    const double backward =
        backward_with_comm(profile, messages, travel, times, barrier_[rank], delays_[rank]);
    row[i] = iteration_time(profile, storage_[rank], backward, delays_[rank]);
  }
}

/// Each message is reduced as if by an all-reduce. After the update of the largest share of a
/// server, all messages are broadcast, one after another. By data sheets a message is pushed and
/// pulled before the update of each rank.
void Grid::add_served(std::size_t exchange, const Alike& ranks, const Profile& profile,
                      Travel travel, std::span<double> row) {
  const Cut messages = find_cut(grid_.space.exchanges[exchange], profile);
  for (std::size_t i = 0; i < ranks.count; ++i) {
    const std::size_t rank = ranks.first + i;
    const Served& times = served(exchange, rank, messages, travel);
    const auto& [reduces, broadcasts, by_sheets] = times.messages;
    RankDelays delays = delays_[rank];
    if (by_sheets) delays.interference = by_sheets->interference;
    if (by_sheets && by_sheets->running) {
      row[i] = iteration_beside(profile, storage_[rank], *by_sheets, delays);
      continue;
    }
    Profile own = profile;
    if (!by_sheets) own.update = times.update;
    const double arrived =
        backward_with_comm(own, messages, travel, reduces, barrier_[rank], delays);
    row[i] = iteration_time(own, storage_[rank], arrived + broadcasts, delays);
  }
}

/// Caches the times, since the messages depend on the network alone.
const Grid::Served& Grid::served(std::size_t exchange, std::size_t rank, const Cut& messages,
                                 Travel travel) {
  std::optional<Served>& known = served_[exchange][rank];
  if (known) return *known;
  known.emplace();
  const Run run = run_on(grid_.space.ranks[rank], 1, grid_.space.exchanges[exchange]);
  const std::vector<Bucket> buckets = gradient_buckets(network_, run.schedule, run.settings);
  EXPECT(buckets.size() == messages.messages());
  known->messages = placed_[rank].served(network_, buckets, run, travel);
  if (known->messages.by_sheets) return *known;
  Notes notes;
  const Bytes most = most_owned(network_, buckets, run);
  known->update = computing_ * update_cost(network_, bare_, run, most, notes).compute.value.si();
  return *known;
}

void Grid::add_merged(Schedule schedule, const Alike& ranks, const Profile& profile,
                      std::span<double> row) {
  const std::vector<ReadyGradient> gradients = ready_gradients(profile);
  for (std::size_t i = 0; i < ranks.count; ++i) {
    const std::size_t rank = ranks.first + i;
    row[i] = iteration_time(profile, storage_[rank], merged(schedule, rank, profile, gradients),
                            delays_[rank]);
  }
}

/// The line that planned_messages() finds, which depends on the sizes of gradients alone.
LinearCost Grid::fitted_line(std::size_t rank, const Profile& profile) {
  std::optional<LinearCost>& line = fitted_lines_[rank];
  if (line) return *line;
  std::vector<Bytes> sizes;
  std::vector<Seconds> times;
  for (const double bytes : profile.gradients) {
    sizes.emplace_back(bytes);
    times.emplace_back(placed_[rank].time(Travel::beside_backward, bytes));
  }
  line = fit_cost(sizes, times);
  const double as_computing = computing_ / placed_[rank].added();  // groups as without points
  *line = {as_computing * line->a, as_computing * line->b};
  return *line;
}

/// Returns T_bc. Groups that end at the same time by the fitted line may not do so by the real
/// times of messages. Where those are not a line, core's groups are used.
double Grid::merged(Schedule schedule, std::size_t rank, const Profile& profile,
                    std::span<const ReadyGradient> gradients) {
  const LinearCost planned_by = fitted_line(rank, profile);
  PlacedMessages& placed = placed_[rank];
  if (placed.line()) {
    const LinearCost line = placed.line().value();
    if (schedule == Schedule::merged) {
      const auto groups = merged_cuts_.optimal(profile, planned_by);
      return backward_with_groups(profile, groups, line, barrier_[rank], delays_[rank]);
    }
    const Groups groups = merge_for(schedule, gradients, planned_by);
    return backward_with_groups(profile, groups, line, barrier_[rank], delays_[rank]);
  }
  const Cut messages = cut_by_groups(profile.gradients, merge_for(schedule, gradients, planned_by));
  std::vector<double> times;
  for (const double bytes : messages.bytes) {
    times.push_back(placed.time(Travel::beside_backward, bytes));
  }
  return backward_with_comm(profile, messages, Travel::beside_backward, times, barrier_[rank],
                            delays_[rank]);
}

/// Runs after the number of jobs is known to be within the limit.
void Grid::simulate() {
  for (const Job& job : jobs_) grid_.by_simulation += job.ranks.count;
  if (grid_.by_simulation > most_simulated) {
    throw ConfigError(
        fmt::format("{} of the {} configurations have to be simulated, which takes long (the limit "
                    "is {}): {}. Name fewer numbers of ranks, batches, schedules or sizes of "
                    "buckets.",
                    grid_.by_simulation, grid_.space.size(), most_simulated,
                    fmt::join(grid_.why_simulated, "; ")));
  }
  for (const Job& job : jobs_) simulate(job);
}

void Grid::simulate(const Job& job) {
  const std::span<double> result = row_of(job.exchange, job.batch, job.ranks);
  const Exchange& how = grid_.space.exchanges[job.exchange];
  for (std::size_t i = 0; i < job.ranks.count; ++i) {
    const Run run =
        run_on(grid_.space.ranks[job.ranks.first + i], grid_.space.batches[job.batch], how);
    grid_.simulated[grid_.index({job.exchange, job.batch, job.ranks.first + i})] = true;
    Notes notes;
    result[i] = simulated(run, notes);
  }
}

}  // namespace

IterationGrid iteration_grid(const Network& network, const Machine& machine, const Run& run,
                             const PlanSpace& space) {
  return Grid(network, machine, run, space).find();
}

}  // namespace dlscale::model
