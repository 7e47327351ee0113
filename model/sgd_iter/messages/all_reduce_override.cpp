#include "model/sgd_iter/messages/all_reduce_override.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/error.hpp"
#include "core/text/suggest.hpp"
#include "model/topology/link_words.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;

constexpr std::string_view best_of_all = "best";

/// Whether it needs only ranks.
bool needs_ranks_alone(const Algorithm& algorithm) {
  return !algorithm.traits.servers && !algorithm.traits.switches;
}

bool is_chooser(std::string_view name) {
  const auto rules = choosing_rules(Collective::all_reduce);
  return std::ranges::find(rules, name) != rules.end();
}

/// "all-reduce by ring"
std::string asked_as(std::string_view name) {
  return name == adding_switches ? "all-reduce by switches that add"
                                 : fmt::format("all-reduce by {}", name);
}

[[noreturn]] void refuse(std::string_view name, std::string_view why, std::string_view instead) {
  throw ConfigError(refusal_of(asked_as(name), why, instead));
}

}  // namespace

std::vector<std::string> all_reduce_overrides() {
  std::vector<std::string> names;
  for (const Algorithm* algorithm : collective::algorithms_of(Collective::all_reduce)) {
    if (needs_ranks_alone(*algorithm)) names.emplace_back(algorithm->name);
  }
  names.emplace_back(chain_of_ranks);
  for (const std::string_view rule : choosing_rules(Collective::all_reduce)) {
    names.emplace_back(rule);
  }
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

void set_all_reduce(Machine& machine, std::string_view wanted) {
  Cluster& cluster = machine.cluster;
  constexpr std::array<std::string_view, 4> rules{"ring", "hierarchical", "nccl", "quickest"};
  const bool is_rule = std::ranges::find(rules, wanted) != rules.end();
  if (wanted == "quickest" && machine.fitted) {
    throw ConfigError(fmt::format(
        "all-reduce quickest is how the data sheets of a cluster are read, and machine {} was "
        "measured. Leave it out, or ask for best.",
        cluster.name));
  }
  if (wanted == adding_switches && names_sockets(cluster)) {
    throw ConfigError(fmt::format(
        "switches add gradients over InfiniBand, and TCP joins the nodes of cluster {}. Leave out "
        "{}, or name a cluster on InfiniBand.",
        cluster.name, wanted));
  }
  if (is_rule) cluster.all_reduce = parse_all_reduce_rule(wanted);
  machine.all_reduce_override = wanted == "quickest" ? "" : wanted;
  if (!is_rule) check_all_reduce_override(wanted);
  if (wanted != "nccl" || cluster.nccl) return;
  throw ConfigError(
      fmt::format("all-reduce nccl needs to know what NCCL's cost model does, and cluster {} "
                  "does not say it. Add the key nccl to the cluster "
                  "(docs/reference/configuration), or ask for ring or hierarchical.",
                  cluster.name));
}

AllReduceOverride::AllReduceOverride(const Machine& machine, const Placement& placement,
                                     Schedule schedule, std::string name, Notes& notes)
    : machine_(&machine),
      placement_(placement),
      name_(std::move(name)),
      times_(machine, placement, schedule, asked_as(name_)),
      notes_(&notes) {
  EXPECT(placement.ranks >= 2);
  check_all_reduce_override(name_);
  if (carried_out() != nullptr || is_chooser(name_)) return;
  if (name_ == best_of_all) {
    for (const std::string& one : all_reduce_overrides()) {
      if (is_chooser(one) || one == best_of_all) continue;
      AlgorithmSequence each = algorithms_named(Collective::all_reduce, one);
      if (times_.obstacle(each).empty()) {
        candidates_.push_back(std::move(each));
      }
    }
    EXPECT(!candidates_.empty());
  }
  static_cast<void>(answer(gradient_element));  // throws early the errors of any size
}

const AlgorithmFit* AllReduceOverride::carried_out() const {
  return measured_algorithm(*machine_, placement_, Collective::all_reduce, name_);
}

AlgorithmSequence AllReduceOverride::algorithms(Bytes m) const {
  if (is_chooser(name_)) {
    return chosen_by_rule(name_, Collective::all_reduce, placement_, m, asked_as(name_));
  }
  if (name_ != best_of_all) return algorithms_named(Collective::all_reduce, name_);
  const auto time = [&](const AlgorithmSequence& each) { return times_.time(each, m); };
  return *std::ranges::min_element(candidates_, {}, time);
}

AlgorithmAnswer AllReduceOverride::answer(Bytes m) const {
  if (name_ == adding_switches) return times_.by_switches(m);
  const AlgorithmSequence all = algorithms(m);
  const std::string why = times_.obstacle(all);
  if (!why.empty()) refuse(name_, why, "Ask for another algorithm, or other numbers of ranks.");
  using Segments = AlgorithmTimes::Segments;
  return times_.answer(all, m, name_ == open_mpi_rule ? Segments::one : Segments::fastest);
}

Estimate<Seconds> AllReduceOverride::time(Bytes m) const {
  if (const AlgorithmFit* fit = carried_out()) {
    if (const auto prediction = predict_message(*fit, placement_, m)) {
      notes_->add(NoteKind::all_reduce_override_measured, {name_, prediction->basis()}, {m});
      return prediction->time;
    }
  }
  const AlgorithmAnswer found = answer(m);
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
