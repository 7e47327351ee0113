#include "model/communication/carrier.hpp"

#include <fmt/format.h>

#include <functional>

#include "core/collective/algorithm.hpp"
#include "core/collective/schedule.hpp"
#include "core/collective/selection/selection.hpp"
#include "core/error.hpp"

namespace dlscale::model {
namespace {

using collective::Algorithm;
using collective::Collective;
using collective::Link;

constexpr Bytes element(4);  // of the gradients that libraries are asked to add

std::optional<Collective> collective_named(std::string_view name) {
  for (const Collective each : collective::collectives) {
    if (collective::to_string(each) == name) return each;
  }
  return std::nullopt;
}

/// Whether all take as long as one message.
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

/// Of one byte: by the closed form, or by the schedule where the closed form is but a bound on it.
/// Its rounds then are of messages of one size, so that the time is a sum of multiples too.
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

/// Closed forms are sums of multiples of the parameters, so each multiple is the cost where one
/// parameter is 1 and the others are 0.
std::optional<LinkTerms> terms_of(const Algorithm& algorithm, const Placement& layout,
                                  int segments) {
  // Servers that are measured are on the ranks; those of the closed form are not.
  if (algorithm.traits.servers) return std::nullopt;
  const int on_node = layout.ranks_on_node();
  const collective::Settings settings{
      .p = layout.ranks, .ranks_on_node = on_node, .segments = segments};
  if (!collective::obstacle(algorithm, settings).empty()) return std::nullopt;
  const CostOf cost = cost_of(algorithm, settings);
  const double alpha = cost(unit_alpha, {});
  const double beta = cost(unit_beta, {});
  LinkTerms terms;
  terms.gamma = cost(unit_gamma, unit_gamma);
  if (!algorithm.traits.two_levels && alpha > 0) terms.transfer = beta / alpha;
  if (!algorithm.traits.two_levels && layout.nodes() == 1) {
    terms.alpha_intra = alpha;
    terms.beta_intra = beta;
    return terms;
  }
  terms.alpha_inter = alpha;
  terms.beta_inter = beta * collective::flows(algorithm.outflow, on_node);
  if (algorithm.traits.two_levels) {
    terms.alpha_intra = cost({}, unit_alpha);
    terms.beta_intra = cost({}, unit_beta);
  }
  return terms;
}

/// Whether a closed form says all with the number of ranks and the links: no segments, servers or
/// switches of which results tell nothing.
bool is_plain(const Algorithm& algorithm) {
  const collective::Traits& reads = algorithm.traits;
  return !reads.segments && !reads.servers && !reads.switches;
}

/// Which algorithm a library's rules name, if the family of algorithms holds it. A segmented ring
/// is one of a segment: Open MPI's are of 1 MiB, and its rules name it for less.
const Algorithm* selected(ChosenBy by, Collective collective, int ranks, Bytes m) {
  const collective::Selection selection = by == ChosenBy::open_mpi
                                              ? collective::open_mpi_fixed(collective, ranks, m)
                                              : collective::mpich(collective, ranks, m, element);
  const Algorithm* algorithm = selection.algorithm;
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
  return terms_of(*found, layout, segments);
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
