#include "model/communication/fit_algorithm.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/results/usable_rows.hpp"
#include "model/fits/fit.hpp"

namespace dlscale::model {
namespace {

/// BIC difference that counts as decisive: against a library's own rules, and for χ as a parameter
/// of its own.
constexpr double decisive = 10;
/// Limit of ranks, because schedules of more take long to count.
constexpr int most_counted = 64;
constexpr double infinite = std::numeric_limits<double>::infinity();

using Samples = std::vector<MessageSample>;

/// The fits of layouts with ≥ 2 sizes, by ranks.
std::vector<LayoutFit> fit_layouts(const MessageFamily& family) {
  std::map<std::pair<int, int>, std::vector<SizedTime>> layouts;
  for (const MessageSample& sample : family.samples) {
    layouts[{sample.layout.ranks, sample.layout.ranks_per_node}].push_back(
        {sample.bytes, sample.time});
  }
  std::vector<LayoutFit> fits;
  for (const auto& [layout, times] : layouts) {
    if (times.size() < 2) continue;
    fits.push_back(
        {{layout.first, layout.second}, Piecewise(fit_piecewise(times)), fit_affine(times)});
  }
  return fits;
}

Samples of_layouts(const MessageFamily& family, const std::vector<LayoutFit>& layouts) {
  Samples samples;
  std::ranges::copy_if(family.samples, std::back_inserter(samples), [&](const auto& sample) {
    return std::ranges::any_of(
        layouts, [&](const LayoutFit& fit) { return is_same(fit.layout, sample.layout); });
  });
  return samples;
}

/// Whether closed forms differ by more than a factor on α and β of a link: two numbers of ranks
/// were measured over the same kind of link.
bool tell_apart(const std::vector<LayoutFit>& layouts) {
  for (const LayoutFit& one : layouts) {
    for (const LayoutFit& other : layouts) {
      const bool alike = is_alike(one.layout, other.layout);
      if (alike && one.layout.ranks != other.layout.ranks) return true;
    }
  }
  return false;
}

/// Whether some samples have several ranks on each of several nodes.
bool has_two_levels(const MessageFamily& family) {
  return std::ranges::any_of(family.samples, [](const MessageSample& sample) {
    return sample.layout.nodes() > 1 && sample.layout.ranks_on_node() > 1;
  });
}

bool is_told(const Carrier& carrier, const MessageFamily& family) {
  return std::ranges::all_of(family.samples, [&](const MessageSample& sample) {
    return carrier.terms(sample.layout, sample.bytes).has_value();
  });
}

/// The rules of the library that a family names.
std::optional<ChosenBy> rules_of(const MessageFamily& family) {
  if (family.library.find("Open MPI") != std::string::npos) return ChosenBy::open_mpi;
  if (family.library.starts_with("MPICH")) return ChosenBy::mpich;
  return std::nullopt;
}

RangeRow row_of(const Carrier& carrier, RangeOf range_of, SecondsPerByte gamma,
                const MessageSample& sample) {
  const auto terms = carrier.terms(sample.layout, sample.bytes);
  EXPECT(terms);
  const double time = sample.time.value.si();
  RangeRow row;
  row.size = size_in_range(*terms, range_of, sample.bytes);
  row.terms = terms->at(sample.bytes);
  for (double& term : row.terms) term /= time;
  row.value = 1 - terms->gamma * (sample.bytes * gamma).si() / time;
  row.deviation = (sample.time.high - sample.time.low).si() / (2 * 1.96 * time);
  return row;
}

bool by_rules(const Carrier& carrier) {
  return carrier.chosen_by == ChosenBy::open_mpi || carrier.chosen_by == ChosenBy::mpich;
}

/// Whether the rules are those of this very library, with default settings: the table of
/// core/collective/selection is that of Open MPI 4.1. Messages copied to the host and back are not
/// covered by any rule, so for them the fit must show it.
bool rules_in_force(const Carrier& carrier, const MessageFamily& family) {
  return carrier.chosen_by == ChosenBy::open_mpi && family.by_defaults &&
         family.library.starts_with("Open MPI 4.1.") && !family.library.ends_with(staged_by_host);
}

struct Candidate {
  Carrier carrier;
  RangeOf range_of = RangeOf::message;
  RangesFit fit;
  /// Median error in predicting the largest number of ranks from the others; infinite if that is
  /// not possible.
  double error_ahead = 0;
  bool in_force = false;  ///< rules_in_force()
};

/// Sizes of what travels are comparable between samples only if all use one algorithm of one level.
bool has_transfers(const Carrier& carrier, const Samples& samples) {
  if (by_rules(carrier)) return false;
  return std::ranges::any_of(samples, [&](const MessageSample& sample) {
    const auto terms = carrier.terms(sample.layout, sample.bytes);
    return terms && terms->transfer != 1;
  });
}

RangesFit ranges_of(const Carrier& carrier, RangeOf range_of, SecondsPerByte gamma,
                    const Samples& samples) {
  std::vector<RangeRow> rows;
  rows.reserve(samples.size());
  for (const MessageSample& sample : samples) {
    rows.push_back(row_of(carrier, range_of, gamma, sample));
  }
  return fit_ranges(std::move(rows));
}

/// Whether χ can be told apart from β: samples between nodes differ in the part of their bytes that
/// travels both ways at once. False where the algorithm itself is fitted.
bool may_tell_two_ways(const Carrier& carrier, const Samples& samples) {
  if (carrier.chosen_by == ChosenBy::fit) return false;
  Carrier two_way = carrier;
  two_way.two_way = true;
  double least = infinite;
  double most = 0;
  for (const MessageSample& sample : samples) {
    if (sample.layout.nodes() == 1) continue;
    if (sample.layout.ranks > most_counted) return false;
    const auto terms = two_way.terms(sample.layout, sample.bytes);
    if (!terms || !(terms->beta_inter > 0)) continue;
    const double share = terms->both_ways / terms->beta_inter;
    least = std::min(least, share);
    most = std::max(most, share);
  }
  constexpr double told = 0.01;
  return most > least + told;
}

/// The carrier with χ as a parameter where that explains the samples decisively better, range by
/// range; else χ is part of β.
Candidate candidate(const Carrier& carrier, RangeOf range_of, SecondsPerByte gamma,
                    const Samples& samples) {
  Candidate plain{carrier, range_of, ranges_of(carrier, range_of, gamma, samples)};
  if (!may_tell_two_ways(carrier, samples)) return plain;
  Candidate other = plain;
  other.carrier.two_way = true;
  other.fit = ranges_of(other.carrier, range_of, gamma, samples);
  return other.fit.bic_by_range + decisive < plain.fit.bic_by_range ? other : plain;
}

std::vector<Candidate> candidates(const std::vector<Carrier>& carriers, const Samples& samples,
                                  SecondsPerByte gamma) {
  std::vector<Candidate> all;
  for (const Carrier& carrier : carriers) {
    std::vector<RangeOf> kinds{RangeOf::message};
    if (has_transfers(carrier, samples)) kinds.push_back(RangeOf::transfer);
    for (const RangeOf range_of : kinds) {
      all.push_back(candidate(carrier, range_of, gamma, samples));
    }
  }
  return all;
}

/// The largest number of ranks, and the next smaller over the same kind of link.
struct Ahead {
  LayoutFit layout;  ///< on the largest number of ranks
  int from = 0;      ///< 0: there is none
  int others = 0;    ///< further numbers of ranks over that kind of link
  [[nodiscard]] bool has(const Placement& other) const {
    return other.ranks == layout.layout.ranks;
  }
};

Ahead ahead_of(const std::vector<LayoutFit>& layouts) {
  Ahead ahead;
  ahead.layout =
      *std::ranges::max_element(layouts, {}, [](const LayoutFit& fit) { return fit.layout.ranks; });
  std::set<int> others;
  for (const LayoutFit& fit : layouts) {
    const bool alike = is_alike(fit.layout, ahead.layout.layout);
    if (alike && !ahead.has(fit.layout)) others.insert(fit.layout.ranks);
  }
  ahead.others = static_cast<int>(others.size());
  if (!others.empty()) ahead.from = *others.rbegin();
  return ahead;
}

/// Standard deviation of the logarithm, from a 95 % interval.
double deviation_of(const Estimate<Seconds>& time) {
  return std::log(time.high / time.value) / 1.96;
}

/// Excess of errors over their own standard deviations: s of a normal distribution with the same
/// median absolute value, less the median of theirs, as squares. 0 where 95 % intervals would hold
/// the median error: errors of sizes are correlated, so that it is like one draw.
double excess(const std::vector<double>& errors, const std::vector<double>& deviations) {
  const double normal_median = 0.6745;  // median of |x| where s is 1
  const double explained = median(deviations);
  if (median(errors) <= 1.96 * explained) return 0;
  return std::sqrt(std::pow(median(errors) / normal_median, 2) - std::pow(explained, 2));
}

/// Whether the rules of the carrier use several algorithms for the samples of a layout.
bool has_several_algorithms(const Carrier& carrier, const Placement& layout,
                            const Samples& samples) {
  std::set<std::string> names;
  for (const MessageSample& sample : samples) {
    if (!is_same(sample.layout, layout)) continue;
    names.insert(carrier.algorithm_for(layout, sample.bytes));
  }
  return names.size() > 1;
}

/// Adds the ratios of layouts to the closed form, where their own line would span several
/// algorithms.
void add_ratios(AlgorithmFit& fit, const Samples& samples) {
  if (!by_rules(fit.carrier)) return;
  for (LayoutFit& layout : fit.layouts) {
    if (!has_several_algorithms(fit.carrier, layout.layout, samples)) continue;
    std::vector<FormRatio> ratios;
    for (const MessageSample& sample : samples) {
      if (!is_same(sample.layout, layout.layout)) continue;
      const auto form = closed_form_time(fit, sample.layout, sample.bytes);
      if (!form || !(form->si() > 0)) continue;
      ratios.push_back({sample.bytes, std::log(sample.time.value / *form)});
    }
    layout.ratios = form_ratios(std::move(ratios));
  }
}

/// Compares predictions by `part` with held-out samples of more ranks, and with the line through
/// these, which has less noise.
std::optional<Foresight> compare_ahead(const AlgorithmFit& part, const AlgorithmFit& whole,
                                       const Samples& samples, const Ahead& ahead) {
  std::vector<double> errors;
  std::vector<double> from_line;
  std::vector<double> deviations;
  for (const MessageSample& sample : samples) {
    if (!ahead.has(sample.layout)) continue;
    const auto prediction = predict_message(part, sample.layout, sample.bytes);
    if (!prediction || prediction->time.value.si() <= 0) continue;
    errors.push_back(std::abs(prediction->time.value / sample.time.value - 1));
    const auto own = predict_message(whole, sample.layout, sample.bytes);
    EXPECT(own && own->algorithm.empty());  // as measured
    from_line.push_back(std::abs(std::log(prediction->time.value / own->time.value)));
    deviations.push_back(std::hypot(deviation_of(prediction->time), deviation_of(own->time)));
  }
  if (errors.empty()) return std::nullopt;
  return Foresight{ahead.layout.layout.ranks, ahead.from, median(errors),
                   excess(from_line, deviations)};
}

/// Fits the candidate to all fewer ranks and predicts the largest number; empty if it cannot.
std::optional<Foresight> foresight_of(const Candidate& candidate, const AlgorithmFit& whole,
                                      const Samples& samples, const Ahead& ahead) {
  if (ahead.from == 0) return std::nullopt;
  Samples seen = samples;
  std::erase_if(seen, [&](const MessageSample& sample) { return ahead.has(sample.layout); });
  AlgorithmFit part = whole;
  std::erase_if(part.layouts, [&](const LayoutFit& fit) { return ahead.has(fit.layout); });
  part.carrier = candidate.carrier;
  part.range_of = candidate.range_of;
  part.ranges = ranges_of(candidate.carrier, candidate.range_of, part.gamma, seen).ranges;
  if (candidate.in_force) add_ratios(part, seen);
  return compare_ahead(part, whole, samples, ahead);
}

/// Judges the candidates where two smaller numbers were measured, so that a third tests the same
/// formula.
void look_ahead(std::vector<Candidate>& all, const AlgorithmFit& whole, const Samples& samples,
                const Ahead& ahead) {
  if (ahead.others < 2 || all.size() < 2) return;
  for (Candidate& each : all) {
    const auto foresight = foresight_of(each, whole, samples, ahead);
    each.error_ahead = foresight ? foresight->median : infinite;
  }
}

/// Among candidates that predict the largest number of ranks about as well as any: the rules of the
/// library, unless they may not be in force and another explains all samples better; else the best
/// fit.
const Candidate& best_of(const std::vector<Candidate>& all) {
  const Candidate& far = *std::ranges::min_element(all, {}, &Candidate::error_ahead);
  const double about = 1.1 * far.error_ahead + 1e-3;
  const Candidate* best = &far;
  const Candidate* ruled = nullptr;
  for (const Candidate& candidate : all) {
    if (!(candidate.error_ahead <= about)) continue;
    if (candidate.fit.bic < best->fit.bic) best = &candidate;
    if (ruled == nullptr && by_rules(candidate.carrier)) ruled = &candidate;
  }
  const bool stands =
      ruled != nullptr && (ruled->in_force || ruled->fit.bic <= best->fit.bic + decisive);
  return stands ? *ruled : *best;
}

}  // namespace

std::vector<Carrier> contenders(const MessageFamily& family) {
  std::vector<Carrier> all;
  if (family.collective == "sendrecv") {
    all = {{family.collective, ChosenBy::caller, std::string(point_to_point), 1}};
  } else if (family.algorithm != "library") {
    all = {{family.collective, ChosenBy::caller, family.algorithm, family.segments}};
  } else {
    if (const auto rules = rules_of(family)) all.push_back({family.collective, *rules, {}, 1});
    std::ranges::move(plain_carriers(family.collective, has_two_levels(family)),
                      std::back_inserter(all));
    all.push_back({family.collective, ChosenBy::fit, std::string(no_change_with_ranks), 1});
  }
  for (Carrier& carrier : all) carrier.cores = family.cores;
  std::erase_if(all, [&](const Carrier& carrier) { return !is_told(carrier, family); });
  return all;
}

std::optional<AlgorithmFit> fit_algorithm(const MessageFamily& family, SecondsPerByte gamma) {
  AlgorithmFit fit;
  fit.layouts = fit_layouts(family);
  if (fit.layouts.empty()) return std::nullopt;
  fit.carrier.collective = family.collective;
  fit.carrier.cores = family.cores;
  fit.library = family.library;
  fit.waiting = family.waiting;
  fit.asked = family.algorithm;
  fit.source = family.source;
  MessageFamily used = family;
  used.samples = of_layouts(family, fit.layouts);
  std::vector<Carrier> likely = contenders(used);
  if (likely.empty()) return std::nullopt;
  if (!tell_apart(fit.layouts)) {
    if (likely.front().chosen_by == ChosenBy::fit) return fit;
    likely.resize(1);
  }
  fit.gamma = gamma;
  std::vector<Candidate> all = candidates(likely, used.samples, gamma);
  for (Candidate& each : all) each.in_force = rules_in_force(each.carrier, family);
  const Ahead ahead = ahead_of(fit.layouts);
  look_ahead(all, fit, used.samples, ahead);
  const Candidate& best = best_of(all);
  fit.foresight = foresight_of(best, fit, used.samples, ahead);
  fit.carrier = best.carrier;
  fit.range_of = best.range_of;
  fit.ranges = best.fit.ranges;
  if (best.in_force) add_ratios(fit, used.samples);
  return fit;
}

}  // namespace dlscale::model
