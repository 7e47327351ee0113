#include "model/communication/carrier.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/collective/algorithm.hpp"
#include "core/collective/powers.hpp"
#include "core/collective/schedule.hpp"
#include "core/collective/selection/selection.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Round;
using collective::Transfer;

/// Traffic of a node with its partners in a round.
struct Load {
  double sum = 0;
  double most = 0;
  void add(double amount) {
    sum += amount;
    most = std::max(most, amount);
  }
};

using Loads = std::map<Rank, Load>;
/// Slots by sender and receiver: transfers between the same two are one message.
using Messages = std::map<std::pair<Rank, Rank>, int>;

Messages messages_of(const collective::Round& round) {
  Messages messages;
  for (const collective::Transfer& transfer : round) {
    if (transfer.from != transfer.to) messages[{transfer.from, transfer.to}] += transfer.count;
  }
  return messages;
}

double busiest(const Loads& loads, const collective::Schedule& schedule) {
  double most = 0;
  for (const auto& [node, load] : loads) {
    const int ports = node < schedule.ranks ? schedule.rank_ports : schedule.helper_ports;
    most = std::max(most, ports == 1 ? load.sum : load.most);
  }
  return most;
}

ScheduleCounts count_round(const collective::Round& round, const collective::Schedule& schedule,
                           int cores) {
  Loads sent;
  Loads received;
  Loads exchanged;
  std::set<Rank> active;
  const Messages messages = messages_of(round);
  for (const auto& [ends, slots] : messages) {
    const auto& [from, to] = ends;
    sent[from].add(1);
    received[to].add(1);
    active.insert({from, to});
    const auto back = messages.find({to, from});
    if (back != messages.end()) exchanged[from].add(std::min(slots, back->second));
  }
  ScheduleCounts counts;
  counts.messages = std::max(busiest(sent, schedule), busiest(received, schedule));
  const double per_core = cores > 0 ? static_cast<double>(active.size()) / cores : 1;
  counts.on_cores = counts.messages * std::max(1.0, per_core);
  counts.both_ways = busiest(exchanged, schedule) / schedule.chunks;
  return counts;
}

using collective::Algorithm;
using collective::Collective;
using collective::Link;

constexpr Bytes element(4);  // f32 gradients, as passed to libraries

std::optional<Collective> collective_named(std::string_view name) {
  for (const Collective each : collective::collectives) {
    if (collective::to_string(each) == name) return each;
  }
  return std::nullopt;
}

/// Whether every collective takes the time of one message.
bool is_one_message(const Carrier& carrier) {
  return carrier.algorithm == point_to_point || carrier.algorithm == no_change_with_ranks;
}

/// α and β of one message of the layout, from its first rank to its last.
LinkTerms terms_of_one_message(const Placement& layout) {
  LinkTerms terms;
  (layout.nodes() == 1 ? terms.alpha_intra : terms.alpha_inter) = 1;
  (layout.nodes() == 1 ? terms.beta_intra : terms.beta_inter) = 1;
  return terms;
}

constexpr Link unit_alpha{Seconds(1), {}, {}};
constexpr Link unit_beta{{}, SecondsPerByte(1), {}};
constexpr Link unit_gamma{{}, {}, SecondsPerByte(1)};

using CostOf = std::function<double(const Link& inter, const Link& intra)>;

/// Cost of one byte: by the closed form, or by the schedule where the closed form is only a bound.
/// The rounds of that schedule have messages of one size, so the time is a sum of multiples too.
CostOf cost_of(const Algorithm& algorithm, const collective::Settings& settings) {
  if (algorithm.inexact.empty()) {
    return [&algorithm, settings](const Link& inter, const Link& intra) {
      return algorithm.cost({inter, intra}, settings, Bytes(1)).si();
    };
  }
  EXPECT(!algorithm.traits.two_levels);
  return [schedule = algorithm.schedule(settings)](const Link& inter, const Link&) {
    return collective::time(schedule, inter, Bytes(1)).si();
  };
}

/// Adds A of messages between nodes on shared cores, and X, by the executed schedule.
void add_counts(const Carrier& carrier, const Algorithm& algorithm, const Placement& layout,
                const collective::Settings& settings, LinkTerms& terms) {
  const bool share_cores = carrier.cores > 0 && layout.ranks > carrier.cores;
  if (layout.nodes() == 1 || algorithm.traits.two_levels) return;
  if (!share_cores && !carrier.two_way) return;
  const bool open_mpi = carrier.chosen_by == ChosenBy::open_mpi;
  const auto counts =
      count(open_mpi ? open_mpi_schedule(algorithm, settings) : algorithm.schedule(settings),
            carrier.cores);
  terms.alpha_inter += counts.on_cores - counts.messages;
  if (!carrier.two_way) return;
  terms.both_ways = counts.both_ways * collective::flows(algorithm.outflow, layout.ranks_on_node());
}

/// Sets the terms of a single-level algorithm: all messages are on one kind of link.
void set_flat(LinkTerms& terms, double alpha, double beta, const Placement& layout,
              collective::Outflow outflow) {
  if (alpha > 0) terms.transfer = beta / alpha;
  if (layout.nodes() == 1) {
    terms.alpha_intra = alpha;
    terms.beta_intra = beta;
    return;
  }
  terms.alpha_inter = alpha;
  terms.beta_inter = beta * collective::flows(outflow, layout.ranks_on_node());
}

/// Closed forms are sums of multiples of the parameters, so each multiple is the cost where one
/// parameter is 1 and the others are 0.
std::optional<LinkTerms> algorithm_terms(const Algorithm& algorithm, const Placement& layout,
                                         const Carrier& carrier) {
  // Measured servers are on the ranks; those of the closed form are not.
  if (algorithm.traits.servers) return std::nullopt;
  const int on_node = layout.ranks_on_node();
  const collective::Settings settings{
      .p = layout.ranks, .ranks_on_node = on_node, .segments = carrier.segments};
  if (!collective::obstacle(algorithm, settings).empty()) return std::nullopt;
  const CostOf cost = cost_of(algorithm, settings);
  const double alpha = cost(unit_alpha, {});
  const double beta = cost(unit_beta, {});
  const bool halves =
      carrier.chosen_by == ChosenBy::open_mpi && open_mpi_halves(algorithm, layout.ranks);
  LinkTerms terms;
  terms.gamma = cost(unit_gamma, unit_gamma) - (halves ? 0.5 : 0);
  if (algorithm.traits.two_levels) {
    terms.alpha_inter = alpha;
    terms.beta_inter = beta * collective::flows(algorithm.outflow, on_node);
    terms.alpha_intra = cost({}, unit_alpha);
    terms.beta_intra = cost({}, unit_beta);
    return terms;
  }
  set_flat(terms, alpha + (halves ? 1 : 0), beta, layout, algorithm.outflow);
  add_counts(carrier, algorithm, layout, settings, terms);
  return terms;
}

/// Whether a closed form needs only the number of ranks and the links: no segments, servers or
/// switches, which results do not record.
bool is_plain(const Algorithm& algorithm) {
  const collective::Traits& reads = algorithm.traits;
  return !reads.segments && !reads.servers && !reads.switches;
}

/// The algorithm that a library runs by its rules, if the family of algorithms has it. A segmented
/// ring has one segment: Open MPI's segments are of 1 MiB, and its rules name it below that.
const Algorithm* selected(ChosenBy by, Collective collective, int ranks, Bytes m) {
  const Algorithm* algorithm =
      by == ChosenBy::open_mpi
          ? open_mpi_carries(collective::open_mpi_fixed(collective, ranks, m).algorithm, ranks, m,
                             element)
          : collective::mpich(collective, ranks, m, element).algorithm;
  if (algorithm == nullptr || is_plain(*algorithm) || algorithm->name == "segmented_ring") {
    return algorithm;
  }
  return nullptr;
}

const Algorithm* algorithm_of(const Carrier& carrier, const Placement& layout, Bytes m) {
  const auto collective = collective_named(carrier.collective);
  if (!collective) return nullptr;
  if (carrier.chosen_by == ChosenBy::open_mpi || carrier.chosen_by == ChosenBy::mpich) {
    return selected(carrier.chosen_by, *collective, layout.ranks, m);
  }
  return collective::find(*collective, carrier.algorithm);
}

}  // namespace

const Algorithm* open_mpi_carries(const Algorithm* named, int ranks, Bytes m, Bytes element) {
  if (named == nullptr || named->collective != Collective::all_reduce) return named;
  const bool ring = named->name == "ring" || named->name == "segmented_ring";
  if (!ring || m / element >= ranks) return named;
  return collective::find(Collective::all_reduce, "recursive_doubling");
}

bool open_mpi_halves(const Algorithm& algorithm, int ranks) {
  return algorithm.collective == Collective::all_reduce && algorithm.name == "rabenseifner" &&
         ranks != collective::largest_power_of_2(ranks);
}

collective::Schedule open_mpi_schedule(const Algorithm& algorithm,
                                       const collective::Settings& settings) {
  collective::Schedule schedule = algorithm.schedule(settings);
  if (!open_mpi_halves(algorithm, settings.p)) return schedule;
  // The first round folds: of each pair, `from` leaves and `to` stays.
  const int half = schedule.chunks / 2;
  EXPECT(!schedule.rounds.empty() && schedule.chunks == 2 * half);
  Round exchange;
  Round join;
  for (const Transfer& fold : schedule.rounds.front()) {
    exchange.push_back({fold.from, fold.to, 0, half, Transfer::Action::add});
    exchange.push_back({fold.to, fold.from, half, half, Transfer::Action::add});
    join.push_back({fold.from, fold.to, half, half, Transfer::Action::copy});
  }
  schedule.rounds.front() = std::move(join);
  schedule.rounds.insert(schedule.rounds.begin(), std::move(exchange));
  return schedule;
}

ScheduleCounts count(const collective::Schedule& schedule, int cores) {
  EXPECT(cores >= 0 && schedule.chunks >= 1);
  ScheduleCounts total;
  for (const collective::Round& round : schedule.rounds) {
    const ScheduleCounts counts = count_round(round, schedule, cores);
    total.messages += counts.messages;
    total.on_cores += counts.on_cores;
    total.both_ways += counts.both_ways;
  }
  return total;
}

std::string_view to_string(ChosenBy chosen_by) {
  switch (chosen_by) {
    case ChosenBy::caller:
      return "caller";
    case ChosenBy::open_mpi:
      return "open_mpi";
    case ChosenBy::mpich:
      return "mpich";
    case ChosenBy::fit:
      return "fit";
  }
  fail_expectation("who chooses an algorithm");
}

ChosenBy parse_chosen_by(std::string_view word) {
  for (const ChosenBy each :
       {ChosenBy::caller, ChosenBy::open_mpi, ChosenBy::mpich, ChosenBy::fit}) {
    if (to_string(each) == word) return each;
  }
  throw ConfigError(
      fmt::format("\"{}\" is none of caller, open_mpi, mpich and fit. Calibrate again.", word));
}

std::string Carrier::name() const {
  if (chosen_by == ChosenBy::open_mpi) return "what Open MPI chooses";
  if (chosen_by == ChosenBy::mpich) return "what MPICH chooses";
  if (algorithm.empty()) return "the best of several";
  if (algorithm == no_change_with_ranks) return "no change with ranks";
  return segments > 1 ? fmt::format("{} in {} segments", algorithm, segments) : algorithm;
}

std::string Carrier::algorithm_for(const Placement& layout, Bytes m) const {
  if (is_one_message(*this)) return algorithm;
  const Algorithm* found = algorithm_of(*this, layout, m);
  return found == nullptr ? std::string() : std::string(found->name);
}

std::optional<LinkTerms> Carrier::terms(const Placement& layout, Bytes m) const {
  if (is_one_message(*this)) return terms_of_one_message(layout);
  const Algorithm* found = algorithm_of(*this, layout, m);
  if (found == nullptr) return std::nullopt;
  return algorithm_terms(*found, layout, *this);
}

std::vector<Carrier> plain_carriers(const std::string& collective, bool two_levels) {
  const auto known = collective_named(collective);
  EXPECT(known);
  std::vector<Carrier> all;
  for (const Algorithm* algorithm : collective::algorithms_of(*known)) {
    if (!is_plain(*algorithm) || (algorithm->traits.two_levels && !two_levels)) continue;
    all.push_back({collective, ChosenBy::fit, std::string(algorithm->name), 1});
  }
  return all;
}

}  // namespace dlscale::model
