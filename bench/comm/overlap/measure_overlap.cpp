#include "bench/comm/overlap/measure_overlap.hpp"

#include <array>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backend/comm/together.hpp"
#include "bench/comm/overlap/overlap_rounds.hpp"
#include "bench/comm/overlap/overlap_work.hpp"
#include "bench/comm/traffic/rotating_buffers.hpp"
#include "bench/comm/traffic/start_skew.hpp"
#include "bench/engine/benchmark.hpp"
#include "bench/quiet/quiet_machine.hpp"
#include "bench/workbench/finding.hpp"
#include "core/base/statistics.hpp"

namespace dlscale::bench {
namespace {

using backend::Communicator;

/// Tolerated factor, either way, between the requested and the measured ratio of work alone to
/// messages alone.
constexpr double most_off = 1.5;

constexpr DType computed_in = DType::f32;

/// A series name and the time of a round that it holds.
struct Part {
  const char* series;
  Seconds OverlapTimes::*time;
};
constexpr std::array parts{Part{"compute_alone", &OverlapTimes::compute_alone},
                           Part{"messages_alone", &OverlapTimes::messages_alone},
                           Part{"together", &OverlapTimes::together},
                           Part{"compute_beside", &OverlapTimes::compute_beside}};

/// Collective: adds a series. Returns the slowest rank's times, sample by sample.
std::vector<double> add_series(Communicator& ranks, std::span<const OverlapTimes> rounds,
                               const Part& part, Measurement& measurement) {
  std::vector<double> mine;
  for (const OverlapTimes& round : rounds) mine.push_back((round.*part.time).si());
  auto all = gather_on_ranks(ranks, mine);
  std::vector<double> longest = slowest_rank(all);
  measurement.series[part.series] = make_series("s", std::move(all));
  return longest;
}

void add_overlap(Communicator& ranks, std::span<const OverlapTimes> rounds,
                 Measurement& measurement) {
  std::vector<OverlapTimes> longest(rounds.size());
  for (const Part& part : parts) {
    const std::vector<double> times = add_series(ranks, rounds, part, measurement);
    for (std::size_t i = 0; i < times.size(); ++i) longest[i].*part.time = Seconds(times[i]);
  }
  const std::vector<double> beside = slowest_rank(measurement.at("time").samples);
  std::map<std::string, std::vector<double>> ratios;
  std::map<std::string, std::vector<double>> times;
  for (std::size_t i = 0; i < longest.size(); ++i) {
    longest[i].messages_beside = Seconds(beside[i]);
    const Overlap of_round = overlap(longest[i]);
    ratios["overlap_efficiency"].push_back(of_round.efficiency);
    ratios["compute_slowdown"].push_back(of_round.compute_slowdown);
    ratios["messages_slowdown"].push_back(of_round.messages_slowdown);
    times["exposed"].push_back(of_round.exposed.si());
    times["hidden"].push_back(of_round.hidden.si());
  }
  for (auto& [name, values] : ratios) measurement.series[name] = make_series("1", {values});
  for (auto& [name, values] : times) measurement.series[name] = make_series("s", {values});
}

/// Warns if the work could not be matched to the requested ratio.
void add_ratio_doubt(double wanted, Measurement& measurement) {
  const double ratio = measurement.at("compute_alone").summary.median /
                       measurement.at("messages_alone").summary.median;
  if (ratio <= wanted * most_off && ratio >= wanted / most_off) return;
  measurement.warnings.push_back(fmt::format(
      "the work alone took {:.2g} times as long as the messages alone, where {:.2g} were asked "
      "for: a run of it is too long for such messages, or their times changed. Send larger "
      "messages, or measure again on a quiet machine.",
      ratio, wanted));
}

Measurement rejected_row(const Finding& finding, const std::string& verdict) {
  if (!verdict.empty()) return wrong_row(verdict);
  return rejected(finding, computed_in).value();
}

/// Runs both at once with known results. Returns a row without times if either is wrong on some
/// rank; else nothing, and the error of the work in `finding`.
std::optional<Measurement> check_both(Communicator& ranks, Traffic& traffic, OverlapWork& work,
                                      OverlapRounds& rounds, Finding& finding) {
  std::vector<std::byte> memory;
  together(ranks, [&] {
    memory.resize(traffic.memory());
    traffic.write_numbers(memory);
    work.spoil();
  });
  traffic.use(memory);
  static_cast<void>(rounds.both());
  traffic.leave();
  rounds.throw_failure();
  finding = find_on_all(ranks, [&] { return work.check(); });
  const std::string verdict = shared_verdict(ranks, traffic.compare(memory));
  if (verdict.empty() && !rejected(finding, computed_in)) return std::nullopt;
  return rejected_row(finding, verdict);
}

/// Checks messages alone; returns a description of errors, or an empty text.
std::string check_messages(Communicator& ranks, Traffic& traffic, OverlapRounds& rounds) {
  std::vector<std::byte> memory;
  together(ranks, [&] {
    memory.resize(traffic.memory());
    traffic.write_numbers(memory);
  });
  traffic.use(memory);
  static_cast<void>(rounds.send());
  traffic.leave();
  return shared_verdict(ranks, traffic.compare(memory));
}

/// Times of the messages alone and of one run of the work, on the slowest rank.
struct Alone {
  Seconds messages;
  Seconds run;
};

Alone look(Communicator& ranks, Traffic& traffic, OverlapRounds& rounds, RotatingBuffers& buffers) {
  constexpr int looks = 5;
  std::vector<double> messages;
  std::vector<double> runs;
  for (int i = 0; i <= looks; ++i) {
    traffic.use(buffers.next());
    const Seconds sent = rounds.send();
    const Seconds ran = rounds.compute();
    if (i == 0) continue;  // warm-up
    messages.push_back(sent.si());
    runs.push_back(ran.si());
  }
  rounds.throw_failure();
  std::array<double, 2> longest{median(messages), median(runs)};
  ranks.all_reduce(longest, backend::Reduction::max);
  return {Seconds(longest[0]), Seconds(longest[1])};
}

class OverlapCell {
 public:
  OverlapCell(const MessageConditions& conditions, const OverlapSetup& beside,
              const Sampler& sampler)
      : conditions_(&conditions), beside_(&beside), sampler_(&sampler) {}

  Measurement measure(Communicator& carrier, Traffic& traffic, const Message& message) {
    Communicator& ranks = sampler_->communicator();
    std::unique_ptr<OverlapWork> work;
    together(ranks, [&] {
      work = beside_->make_work();
      expect_host_memory("its buffers", memory_of(traffic, conditions_->rotation) + work->memory(),
                         ranks.node_size());
    });
    OverlapRounds rounds(ranks, carrier, traffic, *work, conditions_->waiting);
    Finding finding;
    if (auto row = check_both(ranks, traffic, *work, rounds, finding)) return *std::move(row);
    const auto buffers = make_buffers(ranks, traffic, message, *conditions_);
    const Alone alone = look(ranks, traffic, rounds, *buffers);
    rounds.set_runs(matching_runs(beside_->ratio, alone.messages, alone.run));
    Measurement row = sample(ranks, traffic, rounds, *buffers);
    if (row.status != Status::interrupted) {  // an interruption ends collective work
      const Finding after = find_on_all(ranks, [&] { return work->check(); });
      if (auto wrong = rejected(after, computed_in)) return *std::move(wrong);
      const std::string verdict = check_messages(ranks, traffic, rounds);
      if (!verdict.empty()) return wrong_row("after the samples " + verdict);
    }
    describe(traffic, *work, rounds, finding, row);
    return row;
  }

 private:
  Measurement sample(Communicator& ranks, Traffic& traffic, OverlapRounds& rounds,
                     RotatingBuffers& buffers) {
    StartWatch starts(ranks);
    std::vector<OverlapTimes> taken;
    // Only the communicator throws here: the rounds keep exceptions of the work.
    Measurement measurement = sampler_->sample([&] {
      taken.push_back(rounds.round([&] { traffic.use(buffers.next()); }));
      starts.note(rounds.stay());
      return taken.back().messages_beside;
    });
    rounds.throw_failure();
    const auto time = measurement.series.find("time");
    if (time == measurement.series.end()) return measurement;  // interrupted, on all ranks
    const std::size_t count = time->second.samples.front().size();
    add_overlap(ranks, std::span(taken).last(count), measurement);
    starts.report(traffic, measurement);
    add_ratio_doubt(beside_->ratio, measurement);
    return measurement;
  }

  void describe(const Traffic& traffic, const OverlapWork& work, const OverlapRounds& rounds,
                const Finding& finding, Measurement& row) const {
    if (!row.series.empty()) {
      row.series["compute_runs"] = make_series("1", {{static_cast<double>(rounds.runs())}});
    }
    row.work = {Flops(0), traffic.bytes_moved().value()};
    row.algorithmic_work = traffic.algorithmic_work();
    row.max_relative_error = finding.error;
    row.implementation = fmt::format("{} beside {} x {}", traffic.implementation(), rounds.runs(),
                                     work.implementation());
  }

  const MessageConditions* conditions_;
  const OverlapSetup* beside_;
  const Sampler* sampler_;
};

}  // namespace

Measurement measure_overlap(const Message& message, const MessageConditions& conditions,
                            const OverlapSetup& beside, const Sampler& sampler) {
  Communicator& ranks = sampler.communicator();
  // Messages use their own thread and their own communicator.
  const std::unique_ptr<Communicator> carrier = ranks.duplicate();
  Measurement measurement;
  try {
    const std::unique_ptr<Traffic> traffic = make_traffic(*carrier, message);
    measurement = OverlapCell(conditions, beside, sampler).measure(*carrier, *traffic, message);
  } catch (const Unsupported& error) {
    measurement = unsupported(error);
  }
  if (measurement.implementation.empty()) measurement.implementation = ranks.host_library();
  measurement.warnings.insert(measurement.warnings.end(), conditions.warnings.begin(),
                              conditions.warnings.end());
  add_host_warnings(measurement, beside.threads + 1, ranks);
  return measurement;
}

}  // namespace dlscale::bench
