#include "model/sgd_iter/costs/contention_costs.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <span>
#include <string_view>
#include <tuple>
#include <variant>

#include "core/text/quantity_text.hpp"
#include "model/sgd_iter/messages/exchange_costs.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using Fits = std::vector<const ContentionFit*>;
/// The fits by kind of work.
using OfWork = std::array<const ContentionFit*, work_kinds>;

/// Substitutes for an unmeasured kind of work, the nearest first.
std::span<const WorkKind> stand_ins(WorkKind wanted) {
  static constexpr std::array gemm{WorkKind::gemm, WorkKind::conv, WorkKind::copy};
  static constexpr std::array conv{WorkKind::conv, WorkKind::gemm, WorkKind::copy};
  static constexpr std::array copy{WorkKind::copy, WorkKind::conv, WorkKind::gemm};
  if (wanted == WorkKind::gemm) return gemm;
  return wanted == WorkKind::conv ? conv : copy;
}

/// The collectives of a run's messages.
struct Collectives {
  std::string_view message;
  std::string_view gather;  ///< empty if it does not overlap
};

Collectives collectives(const Run& run) {
  if (run.synchronisation == Synchronisation::parameter_server) return {"reduce", ""};
  if (run.schedule == Schedule::reduce_scatter_overlap) return {"reduce_scatter", "all_gather"};
  return {"all_reduce", ""};
}

class Lookup {
 public:
  Lookup(const Machine& machine, const Run& run, const RankCores& cores, Notes& notes)
      : machine_(&machine),
        run_(&run),
        cores_(cores),
        notes_(&notes),
        place_{run.ranks, run.ranks_per_node} {}
  [[nodiscard]] ContentionCosts find() const;

 private:
  [[nodiscard]] bool suits(const ContentionFit& fit) const;
  [[nodiscard]] const ContentionFit* nearest(const Fits& fits, std::string_view collective,
                                             WorkKind work) const;
  [[nodiscard]] OfWork of_collective(const Fits& fits, std::string_view collective) const;
  void note_stand_in(const ContentionFit& fit, std::string_view collective, WorkKind work) const;
  MessageKinds add(const OfWork& of_work, std::string_view collective,
                   ContentionCosts& costs) const;
  void note_none() const;

  const Machine* machine_;
  const Run* run_;
  RankCores cores_;
  Notes* notes_;
  Placement place_;
};

/// Whether layout, threads and cores match the run.
bool Lookup::suits(const ContentionFit& fit) const {
  const bool across = place_.nodes() > 1;
  const bool was_across = fit.ranks > fit.ranks_on_node;
  if (fit.ranks_on_node != place_.ranks_on_node() || across != was_across) return false;
  if (across && machine_->inter_node_stated) return false;
  if (!across && fit.ranks != place_.ranks) return false;
  if (fit.work != WorkKind::copy && fit.threads != run_->compute_threads) return false;
  const bool shares = cores_.computing + 1 > cores_.all;
  if (shares != fit.shares_cores()) return false;
  return !shares || fit.cores_per_rank == cores_.all;
}

/// The best fit to work of one kind: of the collective, else of all-reduce, else another. Among
/// several, with the run's way of waiting, then with the nearest number of ranks.
const ContentionFit* Lookup::nearest(const Fits& fits, std::string_view collective,
                                     WorkKind work) const {
  const auto distance = [&](const ContentionFit* fit) {
    if (fit->work != work) return std::tuple(3, false, 0.0);
    const int other = fit->collective == collective ? 0 : fit->collective == "all_reduce" ? 1 : 2;
    return std::tuple(other, fit->waiting != "sleep",
                      std::abs(std::log(static_cast<double>(fit->ranks) / place_.ranks)));
  };
  const auto found = std::ranges::min_element(fits, {}, distance);
  return found != fits.end() && (*found)->work == work ? *found : nullptr;
}

void Lookup::note_stand_in(const ContentionFit& fit, std::string_view collective,
                           WorkKind work) const {
  if (fit.collective == collective && fit.work == work && fit.ranks == place_.ranks &&
      fit.waiting == "sleep") {
    return;
  }
  notes_->add(NoteKind::contention_other_waiting,
              {collective, work_kind_name(work), fit.collective, work_kind_name(fit.work),
               fit.ranks, fit.waiting});
}

/// Requires a fit that suits.
OfWork Lookup::of_collective(const Fits& fits, std::string_view collective) const {
  OfWork result{};
  for (const WorkKind work : all_work_kinds) {
    for (const WorkKind other : stand_ins(work)) {
      const ContentionFit* fit = nearest(fits, collective, other);
      if (fit == nullptr) continue;
      result[index_of(work)] = fit;
      note_stand_in(*fit, collective, work);
      break;
    }
  }
  return result;
}

std::string factors(const ContentionFit& fit, const ContentionRange& range) {
  return fmt::format("{} {:.3g} and {:.3g}", work_kind_name(fit.work), range.compute.value,
                     range.messages.value);
}

/// Adds a kind for each stretch of sizes in which no range of any work ends.
MessageKinds Lookup::add(const OfWork& of_work, std::string_view collective,
                         ContentionCosts& costs) const {
  const auto no_end = Bytes(std::numeric_limits<double>::infinity());
  std::set<Bytes> ends{no_end};
  for (const ContentionFit* fit : of_work) {
    for (std::size_t i = 0; i + 1 < fit->ranges.size(); ++i) ends.insert(fit->ranges[i].to);
  }
  MessageKinds kinds{costs.kinds.size(), {}};
  Bytes from;
  for (const Bytes end : ends) {
    auto& estimates = costs.kinds.emplace_back();
    std::set<std::string> texts;
    for (const WorkKind work : all_work_kinds) {
      const ContentionFit& fit = *of_work[index_of(work)];
      const ContentionRange& range = fit.range(from);
      estimates[index_of(work)] = {range.compute, range.messages};
      costs.used.push_back({std::string(collective), work, range, to_text(fit), fit.source});
      texts.insert(factors(fit, range));
    }
    const std::string all = fmt::format("{}", fmt::join(texts, ", "));
    if (ends.size() == 1) {
      notes_->add(NoteKind::contention_factors, {collective, all});
    } else if (end == no_end) {
      notes_->add(NoteKind::contention_factors_from, {collective, from, all});
    } else {
      notes_->add(NoteKind::contention_factors_below, {collective, end, all});
    }
    if (end < no_end) kinds.bounds.push_back(end);
    from = end;
  }
  return kinds;
}

void Lookup::note_none() const {
  const bool shares = cores_.computing + 1 > cores_.all;
  notes_->add({calls_servers(*run_)           ? NoteKind::contention_of_calls_unknown
               : machine_->contention.empty() ? NoteKind::contention_not_measured
                                              : NoteKind::contention_measured_elsewhere,
               {shares ? 1 : 0}});
}

ContentionCosts Lookup::find() const {
  ContentionCosts costs;
  const bool on_cpu = machine_->cluster.device.kind == DeviceKind::cpu;
  if (run_->ranks == 1 || run_->schedule == Schedule::sequential || !machine_->fitted || !on_cpu) {
    return costs;
  }
  Fits fits;
  for (const ContentionFit& fit : machine_->contention) {
    if (suits(fit) && !calls_servers(*run_)) fits.push_back(&fit);
  }
  if (fits.empty()) {
    note_none();
    return costs;
  }
  const auto [message, gather] = collectives(*run_);
  costs.message = add(of_collective(fits, message), message, costs);
  if (!gather.empty()) costs.gather = add(of_collective(fits, gather), gather, costs);
  return costs;
}

}  // namespace

std::size_t MessageKinds::of(Bytes size) const {
  const auto passed = std::ranges::count_if(bounds, [&](Bytes bound) { return bound <= size; });
  return first + static_cast<std::size_t>(passed);
}

ContentionCosts contention_costs(const Machine& machine, const Run& run, const RankCores& cores,
                                 Notes& notes) {
  return Lookup(machine, run, cores, notes).find();
}

WorkKind work_kind(const Network& network, Step step) {
  if (step.pass == Pass::accumulate) return WorkKind::copy;
  const Layer& layer = network.layer(step.layer);
  if (std::holds_alternative<Convolution>(layer.kind)) return WorkKind::conv;
  return layer.forward_macs() > 0 ? WorkKind::gemm : WorkKind::copy;
}

}  // namespace dlscale::model
