#include "model/sgd_iter/messages/message_time.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/base/error.hpp"
#include "core/collective/powers.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/sgd_iter/messages/link_estimate.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Link;

constexpr std::string_view all_reduce = "all_reduce";
/// Candidates of an extrapolation: algorithms that libraries run between the ranks alone and that
/// depend only on the number of ranks and one link. Others need segments or nodes, about which a
/// fit says nothing, or optional parameter servers or switches.
constexpr std::array<std::string_view, 4> all_reduce_candidates{"ring", "recursive_doubling",
                                                                "rabenseifner", "binomial"};

const Algorithm& algorithm_named(std::string_view name) {
  const Algorithm* algorithm = collective::find(Collective::all_reduce, name);
  EXPECT(algorithm != nullptr);
  return *algorithm;
}

Seconds cost(const Algorithm& algorithm, const Link& link, int ranks, Bytes message) {
  return algorithm.cost({link, link}, {.p = ranks}, message);
}

using Fits = std::vector<const CollectiveFit*>;

/// The all-reduces of a machine measured after waiting as in `schedule`, else all.
Fits suitable(const Machine& machine, Schedule schedule, Notes& notes) {
  const std::string_view wanted = waiting_in(schedule);
  Fits all;
  Fits as_wanted;
  for (const CollectiveFit& fit : machine.collectives) {
    if (fit.collective != all_reduce) continue;
    all.push_back(&fit);
    if (fit.waiting == wanted) as_wanted.push_back(&fit);
  }
  if (!as_wanted.empty()) return as_wanted;
  if (!all.empty()) {
    notes.add(NoteKind::all_reduce_other_waiting,
              {wanted, schedule_name(schedule), all.front()->waiting});
  }
  return all;
}

/// The closed form fitted to all-reduces of the library on several numbers of ranks after waiting
/// as in `schedule`, if one covers the links of the placement.
const AlgorithmFit* over_ranks(const Machine& machine, const Placement& placement,
                               Schedule schedule) {
  const std::string_view wanted = waiting_in(schedule);
  const AlgorithmFit* found = nullptr;
  for (const AlgorithmFit& fit : machine.algorithms) {
    if (fit.carrier.collective != all_reduce || fit.asked != "library") continue;
    if (fit.ranges.empty() || !predict_message(fit, placement, Bytes(1e6))) continue;
    if (found == nullptr || fit.waiting == wanted) found = &fit;
  }
  return found;
}

bool is_across_nodes(const CollectiveFit& fit) {
  return fit.ranks > fit.ranks_on_node;
}

/// Removes measurements across nodes where another link between nodes was stated.
Fits without_other_links(Fits fits, const Machine& machine, Notes& notes) {
  const auto erased =
      std::erase_if(fits, [](const CollectiveFit* fit) { return is_across_nodes(*fit); });
  if (erased > 0) {
    const LinkSpec& link = machine.cluster.inter_node;
    notes.add(NoteKind::all_reduce_left_out, {link.bandwidth.si() * 1e-9, link.latency.si() * 1e6});
  }
  return fits;
}

/// The suitable fit (`suits`) whose number of ranks is nearest in proportion.
template <class Suits>
const CollectiveFit* nearest(const Fits& fits, int ranks, Suits suits) {
  const CollectiveFit* best = nullptr;
  const auto distance = [&](const CollectiveFit* fit) {
    return std::abs(std::log(static_cast<double>(fit->ranks) / ranks));
  };
  for (const CollectiveFit* fit : fits) {
    if (!suits(*fit)) continue;
    if (best == nullptr || distance(fit) < distance(best)) best = fit;
  }
  return best;
}

/// "extrapolated in ranks by the closed form of ring, fitted to 2, 3, 4 ranks".
Note how_predicted(const MessagePrediction& prediction, const AlgorithmFit& fit, Bytes message) {
  const std::vector<NoteValues> examples{{NoteValue(message)}};
  if (prediction.algorithm.empty()) {
    return {NoteKind::all_reduce_measured, {fit.waiting}, examples};
  }
  std::vector<int> measured;
  for (const LayoutFit& layout : fit.layouts) measured.push_back(layout.layout.ranks);
  const std::string ranks = fmt::format("{}", fmt::join(measured, ", "));
  if (prediction.algorithm == no_change_with_ranks) {
    return {NoteKind::all_reduce_no_growth, {prediction.basis(), ranks}, examples};
  }
  return {NoteKind::all_reduce_closed_form,
          {prediction.basis(), prediction.algorithm, ranks},
          examples};
}

/// A α + B m β of an algorithm on a number of ranks.
struct Multiples {
  double alpha = 0;  ///< A
  double beta = 0;   ///< B
};

Multiples multiples_of(const Algorithm& algorithm, int ranks) {
  constexpr Link unit_alpha{Seconds(1), {}, {}};
  constexpr Link unit_beta{{}, SecondsPerByte(1), {}};
  return {cost(algorithm, unit_alpha, ranks, Bytes()).si(),
          cost(algorithm, unit_beta, ranks, Bytes(1)).si()};
}

/// A schedule whose ranks spin.
constexpr Schedule spinning = Schedule::sequential;

std::optional<Estimate<Seconds>> barrier_by_all_reduce(const Machine& machine,
                                                       const Placement& placement) {
  const std::string_view waiting = waiting_in(spinning);
  const bool measured = std::ranges::any_of(machine.collectives, [&](const CollectiveFit& fit) {
    return fit.collective == "all_reduce" && fit.waiting == waiting;
  });
  if (!measured) return std::nullopt;
  Notes same_as_for_messages;
  const MessageTimes times(machine, placement, spinning, same_as_for_messages);
  if (times.source(smallest_message) == TimeSource::data_sheet) return std::nullopt;
  return times.time(smallest_message);
}

/// The library's own all-reduce, whatever algorithm is set for messages.
std::optional<Estimate<Seconds>> by_library(const Machine& machine, const Placement& placement) {
  if (machine.all_reduce_override.empty()) return barrier_by_all_reduce(machine, placement);
  Machine as_measured = machine;
  as_measured.all_reduce_override.clear();
  return barrier_by_all_reduce(as_measured, placement);
}

std::optional<Estimate<Seconds>> barrier_by_pair(const Machine& machine,
                                                 const Placement& placement) {
  if (crosses_stated_link(machine, placement)) return std::nullopt;
  const CollectiveFit* pair = measured_pair(machine, placement, spinning);
  if (pair == nullptr || pair->waiting != waiting_in(spinning)) return std::nullopt;
  return collective::ceiling_log2(placement.ranks) * pair->cost.time(smallest_message);
}

/// Whether neither the machine nor its messages were measured.
bool by_sheets_alone(const Machine& machine) {
  return !machine.fitted && machine.collectives.empty() && machine.algorithms.empty();
}

}  // namespace

NcclTimes::NcclTimes(const Machine& machine, const Placement& placement,
                     collective::Collective collective)
    : stated_(machine.cluster.nccl.value(), placement, collective),
      slow_(datasheet_links(machine).slow.nccl.value(), placement, collective) {}

Estimate<Seconds> NcclTimes::time(Bytes message, const std::string& name, Notes& notes) const {
  const NcclChoice choice = stated_.choose(message);
  notes.add(NoteKind::nccl_cost_model, {name, to_string(choice)}, {message});
  const Seconds startup = stated_.choose(std::min(message, smallest_message)).time;
  return {choice.time, std::max(Seconds(), choice.time - startup),
          std::max(choice.time, slow_.choose(message).time)};
}

bool crosses_stated_link(const Machine& machine, const Placement& placement) {
  return machine.inter_node_stated && placement.nodes() > 1;
}

MessageTimes::MessageTimes(const Machine& machine, const Placement& placement, Schedule schedule,
                           Notes& notes)
    : machine_(&machine), placement_(placement), notes_(&notes) {
  if (placement.ranks == 1) return;
  if (machine.all_reduce_override == "nccl") {
    nccl_.emplace(machine, placement, Collective::all_reduce);
    return;
  }
  const bool lacks_switches =
      machine.all_reduce_override == adding_switches && placement.nodes() == 1;
  if (!machine.all_reduce_override.empty() && !lacks_switches) {
    asked_ = std::make_shared<const AllReduceOverride>(machine, placement, schedule,
                                                       machine.all_reduce_override, notes);
    return;
  }
  if (by_sheets_alone(machine)) {
    by_sheets_ = sheet_messages(machine, placement);
    if (schedule == Schedule::horovod) by_sheets_->agreement = {};  // a vote for each look instead
    return;
  }
  Fits fits = suitable(machine, schedule, notes);
  const bool by_other_link = crosses_stated_link(machine, placement);
  find_fit(by_other_link ? without_other_links(std::move(fits), machine, notes) : fits);
  if (!exact_ && !by_other_link) over_ranks_ = over_ranks(machine, placement, schedule);
  const Cluster& cluster = machine.cluster;
  const bool by_links =
      cluster.all_reduce == AllReduceRule::ring || cluster.all_reduce == AllReduceRule::quickest;
  if (fit_ == nullptr && over_ranks_ == nullptr && by_links && machine.fitted &&
      !(machine.inter_node_stated && placement.nodes() > 1)) {
    pair_ = measured_pair(machine, placement, schedule);
  }
  if (fit_ == nullptr && cluster.all_reduce == AllReduceRule::nccl) {
    nccl_.emplace(machine, placement, Collective::all_reduce);
  }
  if (fit_ == nullptr && over_ranks_ == nullptr && pair_ == nullptr)
    ends_ = datasheet_links(machine);
  if (fit_ == nullptr || exact_ || !crosses_unmeasured_nodes_) return;
  crosses_nominal_link_ = machine.cluster.inter_node.bandwidth.si() > 0;
  if (crosses_nominal_link_) ends_ = datasheet_links(machine);
  if (!crosses_nominal_link_ && over_ranks_ == nullptr) {
    notes.add(NoteKind::no_link_between_nodes, {machine.cluster.name});
  }
}

const MessageTimes::Offered& MessageTimes::offered() const {
  if (!offered_) {
    offered_ = {nominal_all_reduces(machine_->cluster, placement_),
                nominal_all_reduces(ends_->quick, placement_),
                nominal_all_reduces(ends_->slow, placement_)};
  }
  return *offered_;
}

/// Finds a fit on as many ranks; else over several nodes with as many ranks each; else within a
/// node.
void MessageTimes::find_fit(const Fits& fits) {
  const int ranks = placement_.ranks;
  const int on_node = placement_.ranks_on_node();
  fit_ = nearest(fits, ranks, [&](const CollectiveFit& fit) {
    return fit.ranks == ranks && fit.ranks_on_node == on_node;
  });
  exact_ = fit_ != nullptr;
  if (exact_) return;
  if (placement_.nodes() > 1) {
    fit_ = nearest(fits, ranks, [&](const CollectiveFit& fit) {
      return is_across_nodes(fit) && fit.ranks_on_node == on_node;
    });
  }
  if (fit_ != nullptr) return;
  crosses_unmeasured_nodes_ = placement_.nodes() > 1;
  fit_ = nearest(fits, ranks, [](const CollectiveFit& fit) { return !is_across_nodes(fit); });
}

Estimate<Seconds> MessageTimes::time(Bytes message) const {
  if (placement_.ranks == 1) return {};
  if (asked_) return asked_->time(message);
  if (by_sheets_) return by_sheets(message);
  if (exact_) {
    if (!fit_->cost.covers(message)) {
      notes_->add(NoteKind::all_reduce_outside_sizes, {}, {message});
    }
    return fit_->cost.time(message);
  }
  if (const auto time = by_closed_form(message)) return *time;
  if (fit_ != nullptr) return extrapolate(message);
  if (pair_ != nullptr) return by_pair(message);
  return nominal(message);
}

/// The interval of a prediction has the error of this time.
Estimate<Seconds> MessageTimes::by_sheets(Bytes message) const {
  notes_->add(
      NoteKind::messages_by_sheets, {},
      {placement_.ranks, by_sheets_->agreement + by_sheets_->start, 1 / by_sheets_->per_byte});
  return Estimate<Seconds>::exact(by_sheets_->time(message));
}

std::optional<Estimate<Seconds>> MessageTimes::by_closed_form(Bytes message) const {
  if (over_ranks_ == nullptr) return std::nullopt;
  const auto prediction = predict_message(*over_ranks_, placement_, message);
  if (!prediction) return std::nullopt;
  notes_->add(how_predicted(*prediction, *over_ranks_, message));
  const auto& foresight = over_ranks_->foresight;
  if (prediction->ranks_extrapolated && foresight && foresight->is_poor()) {
    notes_->add(NoteKind::all_reduce_guess,
                {over_ranks_->carrier.name(), foresight->ranks, 100 * foresight->median});
  }
  return prediction->time;
}

Estimate<Seconds> MessageTimes::by_pair(Bytes message) const {
  const bool ring = machine_->cluster.all_reduce == AllReduceRule::ring;
  const std::span<const std::string_view> among(all_reduce_candidates);
  const PairTime best = all_reduce_by_pair(*machine_, *pair_, placement_, message,
                                           ring ? among.first(1) : among);  // the ring is first
  notes_->add(NoteKind::all_reduce_by_pair, {best.algorithm, machine_->reduction ? 1 : 0},
              {message});
  return best.time;
}

Estimate<Seconds> MessageTimes::nominal(Bytes message) const {
  const Cluster& cluster = machine_->cluster;
  if (nccl_) return nccl_->time(message, "all-reduce", *notes_);
  const std::string described = described_links(cluster, placement_);
  if (!described.empty()) {
    notes_->add(NoteKind::links_described, {}, {described});
  }
  const auto& [stated, quick, slow] = offered();
  const NominalAllReduce& taken = quickest(stated, message);
  if (cluster.all_reduce == AllReduceRule::quickest && placement_.nodes() > 1) {
    notes_->add(NoteKind::all_reduce_nominal_fastest, {taken.name}, {message});
  } else {
    notes_->add(NoteKind::all_reduce_nominal, {taken.name});
  }
  return {taken.cost(message), quickest(quick, message).cost(message),
          quickest(slow, message).cost(message)};
}

bool MessageTimes::is_nccl() const {
  return nccl_ && !by_sheets_ && fit_ == nullptr && over_ranks_ == nullptr && pair_ == nullptr;
}

TimeSource MessageTimes::source(Bytes message) const {
  EXPECT(placement_.ranks > 1);
  if (asked_) return asked_->source(message);
  if (fit_ == nullptr && over_ranks_ == nullptr) {
    return pair_ == nullptr ? TimeSource::data_sheet : TimeSource::extrapolated;
  }
  const bool known = exact_ && fit_->cost.covers(message);
  return known ? TimeSource::fitted : TimeSource::extrapolated;
}

Estimate<Seconds> MessageTimes::by(const Algorithm& algorithm, Bytes message) const {
  const Multiples here = multiples_of(algorithm, fit_->ranks);
  const Multiples there = multiples_of(algorithm, placement_.ranks);
  const double sharers = collective::flows(algorithm.outflow, placement_.ranks_on_node());
  const auto outside_of = [&](const Cluster& cluster) {
    return link_between_nodes(cluster, placement_, sharers);
  };
  const bool crosses = crosses_nominal_link_;
  const Link outside = crosses ? outside_of(machine_->cluster) : Link{};
  const Link quick = crosses ? outside_of(ends_->quick) : Link{};
  const Link slow = crosses ? outside_of(ends_->slow) : Link{};
  const Segment& segment = fit_->cost.segment(message);
  const bool start_measured = segment.alpha.value / here.alpha >= outside.alpha;
  const bool bytes_measured = segment.beta.value / here.beta >= outside.beta;
  Estimate<Seconds> time =
      segment.time(start_measured ? there.alpha / here.alpha : 0,
                   bytes_measured ? there.beta / here.beta * message : Bytes());
  const auto of = [&](const Link& link) {
    Seconds sum;
    if (!start_measured) sum += there.alpha * link.alpha;
    if (!bytes_measured) sum += there.beta * message * link.beta;
    return sum;
  };
  time += {of(outside), of(quick), of(slow)};
  time.low =
      std::min(time.value, std::max(time.low, cost(algorithm, quick, placement_.ranks, message)));
  time.high = std::max(time.high, cost(algorithm, slow, placement_.ranks, message));
  return time;
}

Estimate<Seconds> MessageTimes::extrapolate(Bytes message) const {
  Estimate<Seconds> best;
  std::string_view chosen;
  for (const std::string_view name : all_reduce_candidates) {
    const Estimate<Seconds> time = by(algorithm_named(name), message);
    if (!chosen.empty() && time.value >= best.value) continue;
    best = time;
    chosen = name;
  }
  notes_->add(NoteKind::all_reduce_extrapolated,
              {fit_->ranks, chosen, crosses_nominal_link_ ? 1 : 0}, {message});
  return best;
}

Estimate<Seconds> barrier_time(const Machine& machine, const Placement& placement, Notes& notes) {
  if (placement.ranks == 1 || !machine.fitted) return {};
  if (const auto time = by_library(machine, placement)) {
    notes.add(NoteKind::barrier_by_all_reduce);
    return *time;
  }
  if (const auto time = barrier_by_pair(machine, placement)) {
    notes.add(NoteKind::barrier_by_pair);
    return *time;
  }
  notes.add(NoteKind::barrier_unknown);
  return {};
}

}  // namespace dlscale::model
