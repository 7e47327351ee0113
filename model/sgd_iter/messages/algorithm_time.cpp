#include "model/sgd_iter/messages/algorithm_time.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/remedy.hpp"
#include "core/collective/selection/selection.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Link;
using collective::Links;

/// Open MPI's all-reduce that is its reduce, then its broadcast.
constexpr std::string_view nonoverlapping = "nonoverlapping";
constexpr std::string_view mpich = "mpich";
constexpr std::string_view gloo = "gloo";
constexpr std::string_view horovod_hierarchical = "horovod_hierarchical";

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

collective::Selection selection_of(std::string_view rule, Collective collective,
                                   const Placement& placement, Bytes m) {
  if (rule == open_mpi_rule) return collective::open_mpi_fixed(collective, placement.ranks, m);
  if (rule == gloo) return collective::gloo(collective, placement.ranks);
  if (rule == horovod_hierarchical) {
    return collective::horovod_hierarchical(placement.ranks, placement.ranks_on_node());
  }
  EXPECT(rule == mpich);
  return collective::mpich(collective, placement.ranks, m, gradient_element);
}

/// Whether its messages over several nodes are counted round by round.
bool has_rounds(const Algorithm& algorithm) {
  return !algorithm.traits.two_levels && algorithm.name != "bidirectional_ring" &&
         algorithm.name != "scatter_ring";
}

}  // namespace

AlgorithmSequence algorithms_named(Collective collective, std::string_view name) {
  if (collective == Collective::all_reduce && name == chain_of_ranks) {
    return {collective::find(Collective::reduce, chain_of_ranks),
            collective::find(Collective::broadcast, chain_of_ranks)};
  }
  const Algorithm* found = collective::find(collective, name);
  return found == nullptr ? AlgorithmSequence{} : AlgorithmSequence{found};
}

std::vector<std::string_view> choosing_rules(Collective collective) {
  std::vector<std::string_view> rules{open_mpi_rule, mpich, gloo};
  if (collective == Collective::all_reduce) rules.push_back(horovod_hierarchical);
  return rules;
}

AlgorithmSequence chosen_by_rule(std::string_view rule, Collective collective,
                                 const Placement& placement, Bytes m, std::string_view asked) {
  std::vector<collective::Selection> parts{selection_of(rule, collective, placement, m)};
  if (rule == open_mpi_rule && parts.front().name == nonoverlapping) {
    parts = {selection_of(rule, Collective::reduce, placement, m),
             selection_of(rule, Collective::broadcast, placement, m)};
  }
  AlgorithmSequence chosen;
  for (const collective::Selection& part : parts) {
    if (part.algorithm == nullptr) {
      throw ConfigError(refusal_of(
          asked,
          fmt::format("on {} ranks it takes {} for a message of {}, of which no closed form is "
                      "known",
                      placement.ranks, part.name, to_text(m)),
          "Ask for an algorithm by its name."));
    }
    chosen.push_back(part.algorithm);
  }
  return chosen;
}

const AlgorithmFit* measured_algorithm(const Machine& machine, const Placement& placement,
                                       Collective collective, std::string_view name) {
  for (const AlgorithmFit& fit : machine.algorithms) {
    if (fit.carrier.collective != to_string(collective) || fit.asked != name) continue;
    if (placement.nodes() > 1 && machine.inter_node_stated) continue;
    if (predict_message(fit, placement, Bytes(1e6))) return &fit;
  }
  return nullptr;
}

std::string refusal_of(std::string_view asked, std::string_view why, std::string_view instead) {
  return fmt::format("{} cannot be predicted here: {}. {}", asked, why, instead);
}

AlgorithmTimes::AlgorithmTimes(const Machine& machine, const Placement& placement,
                               Schedule schedule, std::string asked)
    : machine_(&machine), placement_(placement), schedule_(schedule), asked_(std::move(asked)) {
  EXPECT(placement.ranks >= 2);
}

std::string AlgorithmTimes::obstacle(const AlgorithmSequence& algorithms) const {
  for (const Algorithm* algorithm : algorithms) {
    const std::string_view why = collective::obstacle(*algorithm, settings(1));
    if (!why.empty()) return fmt::format("on {} ranks it {}", placement_.ranks, why);
  }
  return "";
}

collective::Settings AlgorithmTimes::settings(int segments) const {
  return {.p = placement_.ranks, .ranks_on_node = placement_.ranks_on_node(), .segments = segments};
}

/// The link, or null if the machine does not know it.
std::shared_ptr<const LinkEstimate> AlgorithmTimes::known(LinkKind kind, Bytes transfer,
                                                          Bytes m) const {
  if (const auto found = nominal_.find(kind); found != nominal_.end()) return found->second;
  auto link = estimate_link(*machine_, kind, placement_, schedule_, transfer, m);
  if (!link) return nullptr;
  auto result = std::make_shared<const LinkEstimate>(std::move(*link));
  if (result->nominal) nominal_[kind] = result;
  return result;
}

std::shared_ptr<const LinkEstimate> AlgorithmTimes::link(LinkKind kind, Bytes transfer,
                                                         Bytes m) const {
  if (auto link = known(kind, transfer, m)) return link;
  const bool inter = kind == LinkKind::inter;
  throw RemediableError(
      refusal_of(asked_,
                 fmt::format("machine {} knows no latency and bandwidth {}", machine_->cluster.name,
                             inter ? "between nodes" : "within a node"),
                 inter ? "Measure messages between ranks of two nodes and calibrate, or state the "
                         "bandwidth between nodes."
                       : "Measure messages between ranks of one node and calibrate."),
      {.subject = "comm", .axes = {{"collectives", "sendrecv"}}, .ranks = 2});
}

const SingleLevelRounds& AlgorithmTimes::rounds(const Algorithm& algorithm) const {
  return rounds_.try_emplace(&algorithm, algorithm, placement_).first->second;
}

/// Messages that share a node's link at once.
int AlgorithmTimes::sharers(const Algorithm& algorithm) const {
  if (has_rounds(algorithm)) return rounds(algorithm).sharers();
  return collective::flows(algorithm.outflow, placement_.ranks_on_node());
}

Estimate<SecondsPerByte> AlgorithmTimes::adding() const {
  return machine_->reduction ? machine_->reduction->per_byte : Estimate<SecondsPerByte>{};
}

/// A single-level algorithm uses the link between nodes for both if the other is unknown.
AlgorithmTimes::Crossed AlgorithmTimes::links(const Algorithm& algorithm, Bytes transfer,
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

/// The links by which segments are chosen: of one level the slower of both, for α and β separately.
Links AlgorithmTimes::usual_links(const Algorithm& algorithm, Bytes m) const {
  const Crossed crossed = links(algorithm, m, m);
  Link inter{{}, {}, adding().value};
  Link intra = inter;
  if (crossed.inter) {
    inter.alpha = crossed.inter->fit.alpha.value;
    inter.beta = sharers(algorithm) * crossed.inter->fit.beta.value;
  }
  if (crossed.intra) {
    intra.alpha = crossed.intra->fit.alpha.value;
    intra.beta = crossed.intra->fit.beta.value;
  }
  if (algorithm.traits.two_levels) return {inter, intra};
  const Link slower{std::max(inter.alpha, intra.alpha), std::max(inter.beta, intra.beta),
                    inter.gamma};
  return {slower, slower};
}

int AlgorithmTimes::best_segments(const Algorithm& algorithm, Bytes m) const {
  if (!algorithm.traits.segments || m < gradient_element) return 1;
  const Links usual = usual_links(algorithm, m);
  if (algorithm.name != chain_of_ranks) {
    return collective::best_segments(algorithm, usual, settings(1), m, gradient_element);
  }
  Link link = usual.inter;
  if (algorithm.collective == Collective::broadcast) link.gamma = {};
  return collective::optimal_segments(link, placement_.ranks, m, gradient_element);
}

Seconds AlgorithmTimes::cost(const Algorithm& algorithm, const Links& links, int segments,
                             Bytes m) const {
  const collective::Settings here = settings(segments);
  if (placement_.nodes() == 1) {
    return algorithm.traits.two_levels ? algorithm.cost(links, here, m)
                                       : algorithm.cost({links.intra, {}}, here, m);
  }
  if (has_rounds(algorithm)) return rounds(algorithm).time(links, segments, m);
  Links shared = links;
  shared.inter.beta = sharers(algorithm) * links.inter.beta;
  if (algorithm.traits.two_levels) return algorithm.cost(shared, here, m);
  shared.inter.alpha = std::max(shared.inter.alpha, links.intra.alpha);
  shared.inter.beta = std::max(shared.inter.beta, links.intra.beta);
  return algorithm.cost(shared, here, m);
}

AlgorithmTimes::Part AlgorithmTimes::part(const Algorithm& algorithm, Bytes m,
                                          Segments segments) const {
  const int count = segments == Segments::one ? 1 : best_segments(algorithm, m);
  const Bytes transfer =
      algorithm.traits.two_levels ? m : transfer_of(algorithm, settings(count), m);
  return {&algorithm, count, links(algorithm, transfer, m)};
}

Seconds AlgorithmTimes::time_of(const Part& part, Bytes m, Start start, Slope per_byte) const {
  const SecondsPerByte gamma = adding().*per_byte;
  const auto of = [&](const std::shared_ptr<const LinkEstimate>& link) {
    return link ? fitted_link(link->fit, start, per_byte, gamma) : Link{};
  };
  return cost(*part.algorithm, {of(part.crossed.inter), of(part.crossed.intra)}, part.segments, m);
}

void AlgorithmTimes::add_links(const Crossed& crossed, AlgorithmAnswer& answer) {
  for (const auto& each : {crossed.inter, crossed.intra}) {
    if (!each) continue;
    if (std::ranges::find(answer.links, each->from) == answer.links.end()) {
      answer.links.push_back(each->from);
    }
    answer.nominal |= each->nominal;
  }
}

/// Adds the part to those in the answer.
void AlgorithmTimes::add(const Part& part, Bytes m, AlgorithmAnswer& answer) const {
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

AlgorithmAnswer AlgorithmTimes::answer(const AlgorithmSequence& algorithms, Bytes m,
                                       Segments segments) const {
  AlgorithmAnswer answer;
  answer.by = algorithms.front()->name;
  if (algorithms.size() == 2 && answer.by != chain_of_ranks) {
    answer.by = fmt::format("a reduce by {} and a broadcast by {}", algorithms.front()->name,
                            algorithms.back()->name);
  }
  for (const Algorithm* algorithm : algorithms) {
    if (!algorithm->inexact.empty()) answer.by += fmt::format(" ({})", algorithm->inexact);
    add(part(*algorithm, m, segments), m, answer);
  }
  return answer;
}

Seconds AlgorithmTimes::time(const AlgorithmSequence& algorithms, Bytes m) const {
  Seconds sum;
  for (const Algorithm* algorithm : algorithms) {
    sum += time_of(part(*algorithm, m, Segments::fastest), m, &Estimate<Seconds>::value,
                   &Estimate<SecondsPerByte>::value);
  }
  return sum;
}

/// The ranks of a node share its link, which all of the message crosses.
AlgorithmAnswer AlgorithmTimes::by_switches(Bytes m) const {
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
  AlgorithmAnswer answer;
  answer.time = {by(&Time::value, &PerByte::value), by(&Time::low, &PerByte::low),
                 by(&Time::high, &PerByte::high)};
  answer.by = fmt::format("switches that add (SHARP; levels of them: {})",
                          levels_of(switches, placement_.nodes()));
  add_links(crossed, answer);
  return answer;
}

}  // namespace dlscale::model
