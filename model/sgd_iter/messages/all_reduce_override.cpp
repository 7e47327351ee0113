#include "model/sgd_iter/messages/all_reduce_override.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/collective/selection/selection.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/suggest.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Link;

constexpr std::string_view chain = "chain";
constexpr std::string_view open_mpi = "open_mpi";
/// Open MPI's algorithm: its reduce, then its broadcast.
constexpr std::string_view nonoverlapping = "nonoverlapping";
constexpr std::string_view mpich = "mpich";
constexpr std::string_view gloo = "gloo";
constexpr std::string_view horovod_hierarchical = "horovod_hierarchical";
constexpr std::string_view best_of_all = "best";
/// Rules that choose by the size of a message or by the ranks.
constexpr std::array choosers{open_mpi, mpich, gloo, horovod_hierarchical};
constexpr Bytes gradient_element(4);

/// Whether it needs only ranks.
bool needs_ranks_alone(const Algorithm& algorithm) {
  return !algorithm.traits.servers && !algorithm.traits.switches;
}

Link fitted_link(const LinkFit& fit, Seconds Estimate<Seconds>::*start,
                 SecondsPerByte Estimate<SecondsPerByte>::*per_byte, SecondsPerByte gamma) {
  return {fit.alpha.*start, fit.beta.*per_byte, gamma};
}

/// Mean bytes that one rank sends at once: B m / A.
Bytes transfer_of(const Algorithm& algorithm, const collective::Settings& settings, Bytes m) {
  const auto cost = [&](const Link& link) {
    return algorithm.cost({link, link}, settings, Bytes(1)).si();
  };
  const double starts = cost({Seconds(1), {}, {}});
  const double bytes = cost({{}, SecondsPerByte(1), {}});
  return starts > 0 ? bytes / starts * m : m;
}

bool is_chooser(std::string_view name) {
  return std::ranges::find(choosers, name) != choosers.end();
}

std::string refusal(std::string_view name, std::string_view why, std::string_view instead) {
  const std::string asked = name == adding_switches ? "all-reduce by switches that add"
                                                    : fmt::format("all-reduce by {}", name);
  return fmt::format("{} cannot be predicted here: {}. {}", asked, why, instead);
}

[[noreturn]] void refuse(std::string_view name, std::string_view why, std::string_view instead) {
  throw ConfigError(refusal(name, why, instead));
}

}  // namespace

std::vector<std::string> all_reduce_overrides() {
  std::vector<std::string> names;
  for (const Algorithm* algorithm : collective::algorithms_of(Collective::all_reduce)) {
    if (needs_ranks_alone(*algorithm)) names.emplace_back(algorithm->name);
  }
  names.emplace_back(chain);
  names.insert(names.end(), choosers.begin(), choosers.end());
  names.emplace_back(best_of_all);
  return names;
}

void check_all_reduce_override(std::string_view name) {
  const Algorithm* algorithm = collective::find(Collective::all_reduce, name);
  if (algorithm != nullptr && algorithm->traits.servers) {
    refuse(name, "it needs servers beside the ranks",
           "Ask for synchronisation by parameter servers.");
  }
  if (algorithm != nullptr && algorithm->traits.switches) {
    refuse(name, "it needs switches that add, of which no machine or cluster tells anything",
           "Ask for an algorithm of ranks alone.");
  }
  if (name == adding_switches) return;
  std::vector<std::string> known = all_reduce_overrides();
  if (std::ranges::find(known, name) != known.end()) return;
  known.emplace_back("nccl");
  throw ConfigError(
      fmt::format("\"{}\" is not an algorithm of all-reduce. {}", name, suggestion(name, known)));
}

AllReduceOverride::AllReduceOverride(const Machine& machine, const Placement& placement,
                                     Schedule schedule, std::string name, Notes& notes)
    : machine_(&machine),
      placement_(placement),
      schedule_(schedule),
      name_(std::move(name)),
      notes_(&notes) {
  EXPECT(placement.ranks >= 2);
  check_all_reduce_override(name_);
  if (carried_out() != nullptr || is_chooser(name_)) return;
  if (name_ == best_of_all) {
    for (const std::string& one : all_reduce_overrides()) {
      if (is_chooser(one) || one == best_of_all) continue;
      if (Algorithms each = algorithms(one); obstacle(each).empty()) {
        candidates_.push_back(std::move(each));
      }
    }
    EXPECT(!candidates_.empty());
  }
  static_cast<void>(answer(gradient_element));  // throws early the errors of any size
}

AllReduceOverride::Algorithms AllReduceOverride::algorithms(std::string_view name) const {
  if (name != chain) return {collective::find(Collective::all_reduce, name)};
  return {collective::find(Collective::reduce, chain),
          collective::find(Collective::broadcast, chain)};
}

AllReduceOverride::Algorithms AllReduceOverride::chosen(Bytes m) const {
  const int p = placement_.ranks;
  const collective::Selection selection = [&] {
    if (name_ == open_mpi) return collective::open_mpi_fixed(Collective::all_reduce, p, m);
    if (name_ == gloo) return collective::gloo(Collective::all_reduce, p);
    if (name_ == horovod_hierarchical) {
      return collective::horovod_hierarchical(p, placement_.ranks_on_node());
    }
    return collective::mpich(Collective::all_reduce, p, m, gradient_element);
  }();
  if (name_ == open_mpi && selection.name == nonoverlapping) {
    const auto parts = {collective::open_mpi_fixed(Collective::reduce, p, m),
                        collective::open_mpi_fixed(Collective::broadcast, p, m)};
    Algorithms both;
    for (const collective::Selection& part : parts) {
      if (part.algorithm == nullptr) refuse_unknown(part, m);
      both.push_back(part.algorithm);
    }
    return both;
  }
  if (selection.algorithm == nullptr) refuse_unknown(selection, m);
  return {selection.algorithm};
}

void AllReduceOverride::refuse_unknown(const collective::Selection& selection, Bytes m) const {
  refuse(
      name_,
      fmt::format("on {} ranks it takes {} for a message of {}, of which no closed form is known",
                  placement_.ranks, selection.name, to_text(m)),
      "Ask for an algorithm by its name.");
}

std::string AllReduceOverride::obstacle(const Algorithms& algorithms) const {
  for (const Algorithm* algorithm : algorithms) {
    const std::string_view why = collective::obstacle(*algorithm, settings(1));
    if (!why.empty()) return fmt::format("on {} ranks it {}", placement_.ranks, why);
  }
  return "";
}

/// The fit to messages executed by that algorithm.
const AlgorithmFit* AllReduceOverride::carried_out() const {
  for (const AlgorithmFit& fit : machine_->algorithms) {
    if (fit.carrier.collective != "all_reduce" || fit.asked != name_) continue;
    if (placement_.nodes() > 1 && machine_->inter_node_stated) continue;
    if (predict_message(fit, placement_, Bytes(1e6))) return &fit;
  }
  return nullptr;
}

collective::Settings AllReduceOverride::settings(int segments) const {
  return {.p = placement_.ranks, .ranks_on_node = placement_.ranks_on_node(), .segments = segments};
}

/// The link, or null if the machine does not know it.
std::shared_ptr<const LinkEstimate> AllReduceOverride::known(LinkKind kind, Bytes transfer,
                                                             Bytes m) const {
  if (const auto found = nominal_.find(kind); found != nominal_.end()) return found->second;
  auto link = estimate_link(*machine_, kind, placement_, schedule_, transfer, m);
  if (!link) return nullptr;
  auto result = std::make_shared<const LinkEstimate>(std::move(*link));
  if (result->nominal) nominal_[kind] = result;
  return result;
}

std::shared_ptr<const LinkEstimate> AllReduceOverride::link(LinkKind kind, Bytes transfer,
                                                            Bytes m) const {
  if (auto link = known(kind, transfer, m)) return link;
  const bool inter = kind == LinkKind::inter;
  throw RemediableError(
      refusal(name_,
              fmt::format("machine {} knows no latency and bandwidth {}", machine_->cluster.name,
                          inter ? "between nodes" : "within a node"),
              inter ? "Measure messages between ranks of two nodes and calibrate, or state the "
                      "bandwidth between nodes."
                    : "Measure messages between ranks of one node and calibrate."),
      {.subject = "comm", .axes = {{"collectives", "sendrecv"}}, .ranks = 2});
}

const SingleLevelRounds& AllReduceOverride::rounds(const Algorithm& algorithm) const {
  return rounds_.try_emplace(&algorithm, algorithm, placement_).first->second;
}

/// The slower of the links that a single-level algorithm crosses, for α and β separately.
Link AllReduceOverride::slower_link(const Algorithm& algorithm, Bytes m) const {
  const Crossed crossed = links(algorithm, m, m);
  Link slower{{}, {}, adding().value};
  if (crossed.inter) {
    slower.alpha = crossed.inter->fit.alpha.value;
    slower.beta = rounds(algorithm).sharers() * crossed.inter->fit.beta.value;
  }
  if (crossed.intra) {
    slower.alpha = std::max(slower.alpha, crossed.intra->fit.alpha.value);
    slower.beta = std::max(slower.beta, crossed.intra->fit.beta.value);
  }
  return slower;
}

int AllReduceOverride::best_segments(const Algorithm& algorithm, Bytes m) const {
  if (!algorithm.traits.segments || m < gradient_element) return 1;
  EXPECT(!algorithm.traits.two_levels);
  Link usual = slower_link(algorithm, m);
  if (algorithm.name != chain) {
    return collective::best_segments(algorithm, {usual, usual}, settings(1), m, gradient_element);
  }
  if (algorithm.collective == Collective::broadcast) usual.gamma = {};
  return collective::optimal_segments(usual, placement_.ranks, m, gradient_element);
}

Estimate<SecondsPerByte> AllReduceOverride::adding() const {
  return machine_->reduction ? machine_->reduction->per_byte : Estimate<SecondsPerByte>{};
}

/// A single-level algorithm uses the link between nodes for both if the other is unknown.
AllReduceOverride::Crossed AllReduceOverride::links(const Algorithm& algorithm, Bytes transfer,
                                                    Bytes m) const {
  Crossed crossed;
  const bool across = placement_.nodes() > 1;
  if (across) crossed.inter = link(LinkKind::inter, transfer, m);
  if (placement_.ranks_on_node() == 1) return crossed;
  if (across && !algorithm.traits.two_levels) {
    crossed.intra = known(LinkKind::intra, transfer, m);
    if (!crossed.intra) crossed.intra = crossed.inter;
  } else {
    crossed.intra = link(LinkKind::intra, transfer, m);
  }
  return crossed;
}

Seconds AllReduceOverride::cost(const Algorithm& algorithm, const collective::Links& links,
                                int segments, Bytes m) const {
  const collective::Settings here = settings(segments);
  if (placement_.nodes() == 1) {
    return algorithm.traits.two_levels ? algorithm.cost(links, here, m)
                                       : algorithm.cost({links.intra, {}}, here, m);
  }
  if (!algorithm.traits.two_levels) return rounds(algorithm).time(links, segments, m);
  collective::Links shared = links;
  shared.inter.beta = collective::flows(algorithm.outflow, here.ranks_on_node) * links.inter.beta;
  return algorithm.cost(shared, here, m);
}

AllReduceOverride::Part AllReduceOverride::part(const Algorithm& algorithm, Bytes m) const {
  const int segments = name_ == open_mpi ? 1 : best_segments(algorithm, m);
  const Bytes transfer =
      algorithm.traits.two_levels ? m : transfer_of(algorithm, settings(segments), m);
  return {&algorithm, segments, links(algorithm, transfer, m)};
}

Seconds AllReduceOverride::time_of(const Part& part, Bytes m, Start start, Slope per_byte) const {
  const SecondsPerByte gamma = adding().*per_byte;
  const auto of = [&](const std::shared_ptr<const LinkEstimate>& link) {
    return link ? fitted_link(link->fit, start, per_byte, gamma) : Link{};
  };
  return cost(*part.algorithm, {of(part.crossed.inter), of(part.crossed.intra)}, part.segments, m);
}

void AllReduceOverride::add_links(const Crossed& crossed, Answer& answer) {
  for (const auto& each : {crossed.inter, crossed.intra}) {
    if (!each) continue;
    if (std::ranges::find(answer.links, each->from) == answer.links.end()) {
      answer.links.push_back(each->from);
    }
    answer.nominal |= each->nominal;
  }
}

/// Adds the part to those in the answer.
void AllReduceOverride::add(const Part& part, Bytes m, Answer& answer) const {
  using Time = Estimate<Seconds>;
  using PerByte = Estimate<SecondsPerByte>;
  answer.time +=
      {time_of(part, m, &Time::value, &PerByte::value), time_of(part, m, &Time::low, &PerByte::low),
       time_of(part, m, &Time::high, &PerByte::high)};
  const std::string in = part.segments > 1 ? fmt::format(" in {} segments of {}", part.segments,
                                                         to_text(m / part.segments))
                                           : "";
  if (in != answer.in) answer.in += answer.in.empty() ? in : " and then" + in;
  add_links(part.crossed, answer);
}

AllReduceOverride::Answer AllReduceOverride::by(const Algorithms& algorithms, Bytes m) const {
  Answer answer;
  answer.by = algorithms.front()->name;
  if (algorithms.size() == 2 && answer.by != chain) {
    answer.by = fmt::format("a reduce by {} and a broadcast by {}", algorithms.front()->name,
                            algorithms.back()->name);
  }
  for (const Algorithm* algorithm : algorithms) {
    if (!algorithm->inexact.empty()) answer.by += fmt::format(" ({})", algorithm->inexact);
    add(part(*algorithm, m), m, answer);
  }
  return answer;
}

AllReduceOverride::Algorithms AllReduceOverride::best(Bytes m) const {
  const auto time = [&](const Algorithms& algorithms) {
    Seconds sum;
    for (const Algorithm* algorithm : algorithms) {
      sum += time_of(part(*algorithm, m), m, &Estimate<Seconds>::value,
                     &Estimate<SecondsPerByte>::value);
    }
    return sum;
  };
  return *std::ranges::min_element(candidates_, {}, time);
}

/// All-reduce by switches: the ranks of a node share its link, which all of the message crosses.
AllReduceOverride::Answer AllReduceOverride::by_switches(Bytes m) const {
  const AddingSwitches switches;
  const int on_node = placement_.ranks_on_node();
  const Crossed crossed{link(LinkKind::inter, m, m),
                        on_node > 1 ? link(LinkKind::intra, m / on_node, m) : nullptr};
  const Estimate<SecondsPerByte> gamma = adding();
  const auto by = [&](Start start, Slope per_byte) {
    const auto of = [&](const std::shared_ptr<const LinkEstimate>& link) {
      return fitted_link(link ? link->fit : LinkFit{}, start, per_byte, gamma.*per_byte);
    };
    return in_network_all_reduce(switches, {of(crossed.inter), of(crossed.intra)}, placement_, m);
  };
  using Time = Estimate<Seconds>;
  using PerByte = Estimate<SecondsPerByte>;
  Answer answer;
  answer.time = {by(&Time::value, &PerByte::value), by(&Time::low, &PerByte::low),
                 by(&Time::high, &PerByte::high)};
  answer.by = fmt::format("switches that add (SHARP; levels of them: {})",
                          levels_of(switches, placement_.nodes()));
  add_links(crossed, answer);
  return answer;
}

AllReduceOverride::Answer AllReduceOverride::answer(Bytes m) const {
  if (name_ == adding_switches) return by_switches(m);
  if (name_ == best_of_all) return by(best(m), m);
  const Algorithms all = is_chooser(name_) ? chosen(m) : algorithms(name_);
  const std::string why = obstacle(all);
  if (!why.empty()) refuse(name_, why, "Ask for another algorithm, or other numbers of ranks.");
  return by(all, m);
}

Estimate<Seconds> AllReduceOverride::time(Bytes m) const {
  if (const AlgorithmFit* fit = carried_out()) {
    if (const auto prediction = predict_message(*fit, placement_, m)) {
      notes_->add(NoteKind::all_reduce_override_measured, {name_, prediction->basis()}, {m});
      return prediction->time;
    }
  }
  const Answer found = answer(m);
  notes_->add(
      NoteKind::all_reduce_override,
      {found.by, fmt::format("{}", fmt::join(found.links, " and ")), machine_->reduction ? 1 : 0},
      {m, found.in});
  return found.time;
}

TimeSource AllReduceOverride::source(Bytes m) const {
  if (carried_out() != nullptr) return TimeSource::extrapolated;
  return answer(m).nominal ? TimeSource::data_sheet : TimeSource::extrapolated;
}

}  // namespace dlscale::model
