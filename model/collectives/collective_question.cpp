#include "model/collectives/collective_question.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

#include "core/base/error.hpp"
#include "core/run/run.hpp"
#include "core/text/suggest.hpp"
#include "model/sgd_iter/messages/algorithm_time.hpp"
#include "model/sgd_iter/messages/all_reduce_override.hpp"
#include "model/sgd_iter/messages/collective_time.hpp"
#include "model/sgd_iter/messages/message_time.hpp"
#include "model/topology/datasheet_efficiency.hpp"
#include "model/topology/topology.hpp"

namespace dlscale::model {
namespace {

using collective::Collective;

/// A schedule whose ranks spin before a message.
constexpr Schedule spinning = Schedule::sequential;
constexpr std::string_view by_nccl = "nccl";

struct Timed {
  Estimate<Seconds> time;
  TimeSource source;
};

/// Times of one algorithm on one placement. Throws ConfigError for sizes that it refuses.
using Timer = std::function<Timed(Bytes)>;

bool needs_ranks_alone(const collective::Algorithm& algorithm) {
  return !algorithm.traits.servers && !algorithm.traits.switches;
}

bool is_one_of(const std::vector<std::string_view>& words, std::string_view word) {
  return std::ranges::find(words, word) != words.end();
}

/// An all-reduce as a prediction of training has it with --all-reduce of that word.
struct AllReduce {
  AllReduce(const Machine& usual, const Placement& placement, std::string_view word, Notes& notes)
      : machine(usual) {
    if (word != by_library) set_all_reduce(machine, word);
    times.emplace(machine, placement, spinning, notes);
  }
  Machine machine;
  std::optional<MessageTimes> times;
};

Timer all_reduce_timer(const Machine& machine, const Placement& placement, std::string_view word,
                       Notes& notes) {
  const auto all = std::make_shared<const AllReduce>(machine, placement, word, notes);
  return [all](Bytes m) { return Timed{all->times->time(m), all->times->source(m)}; };
}

/// Another collective as the library does it.
Timer library_timer(const Machine& machine, const Placement& placement, Collective collective,
                    Notes& notes) {
  const auto all = std::make_shared<const AllReduce>(machine, placement, by_library, notes);
  const auto times = std::make_shared<const CollectiveTimes>(all->machine, placement, collective,
                                                             spinning, *all->times, notes);
  return [all, times](Bytes m) { return Timed{times->time(m), times->source(m)}; };
}

Timer nccl_timer(const Machine& machine, const Placement& placement, Collective collective,
                 Notes& notes) {
  const auto times = std::make_shared<const NcclTimes>(machine, placement, collective);
  return [times, collective, &notes](Bytes m) {
    return Timed{times->time(m, std::string(to_string(collective)), notes), TimeSource::data_sheet};
  };
}

Timer algorithm_timer(const Machine& machine, const Placement& placement, Collective collective,
                      const std::string& word) {
  if (const AlgorithmFit* fit = measured_algorithm(machine, placement, collective, word)) {
    return [fit, placement](Bytes m) {
      return Timed{predict_message(*fit, placement, m).value().time, TimeSource::extrapolated};
    };
  }
  const std::string asked = fmt::format("{} by {}", to_string(collective), word);
  const auto times = std::make_shared<const AlgorithmTimes>(machine, placement, spinning, asked);
  return [times, collective, placement, word, asked](Bytes m) {
    const bool rule = is_one_of(choosing_rules(collective), word);
    const AlgorithmSequence taken = rule ? chosen_by_rule(word, collective, placement, m, asked)
                                         : algorithms_named(collective, word);
    const std::string why = times->obstacle(taken);
    if (!why.empty()) {
      throw ConfigError(
          refusal_of(asked, why, "Ask for another algorithm, or other numbers of ranks."));
    }
    using Segments = AlgorithmTimes::Segments;
    const AlgorithmAnswer answer =
        times->answer(taken, m, word == open_mpi_rule ? Segments::one : Segments::fastest);
    return Timed{answer.time, answer.nominal ? TimeSource::data_sheet : TimeSource::extrapolated};
  };
}

Timer timer_of(const Machine& machine, const Placement& placement, Collective collective,
               const std::string& word, Notes& notes) {
  if (word == adding_switches && placement.nodes() == 1) {
    throw ConfigError(
        refusal_of("all-reduce by switches that add",
                   fmt::format("{} ranks are on one node, which has no switches", placement.ranks),
                   "Ask for more ranks, or another algorithm."));
  }
  if (collective == Collective::all_reduce) {
    return all_reduce_timer(machine, placement, word, notes);
  }
  if (word == by_nccl) return nccl_timer(machine, placement, collective, notes);
  if (word != by_library) return algorithm_timer(machine, placement, collective, word);
  if (collective != Collective::all_to_all) {
    return library_timer(machine, placement, collective, notes);
  }
  return algorithm_timer(machine, placement, collective, "pairwise");
}

void check(const Machine& machine, const CollectiveQuestion& question) {
  EXPECT(!question.ranks.empty() && !question.sizes.empty() && !question.algorithms.empty());
  const std::vector<std::string> known = collective_words(machine, question.collective);
  for (const std::string& word : question.algorithms) {
    if (std::ranges::find(known, word) != known.end()) continue;
    throw ConfigError(
        fmt::format("\"{}\" is not an algorithm of {} that can be predicted on {}. {}", word,
                    to_string(question.collective), machine.cluster.name, suggestion(word, known)));
  }
  for (const int ranks : question.ranks) {
    if (ranks < 2) throw ConfigError("one rank sends no message. Ask for 2 ranks or more.");
    if (ranks <= most_message_ranks) continue;
    throw ConfigError(
        fmt::format("{} ranks are more than the {} up to which messages are predicted. Ask for "
                    "fewer.",
                    ranks, most_message_ranks));
  }
}

/// Published all-reduces over their times by data sheets, as 5 and 95 % of them are: between GPUs,
/// by NCCL's cost model, and between processors. [validate --cases open_allreduce.jsonl;
/// results/published/ALLREDUCE.md]
constexpr SheetRange range_of_gpus{0.54, 1.5};
constexpr SheetRange range_of_nccl{0.65, 6.5};
constexpr SheetRange range_of_processors{0.1, 1.7};

/// Messages alone pass the links of a node faster than beside computing, by this factor. [Published
/// all-reduces on one node over the rates that trainings reach there: 1.14, 1.39 and 1.5 at the
/// mean in three sources]
constexpr double alone_within_node = 1.33;

/// Times of one word by data sheets, with the interval of published messages:
///   on one node of GPUs  T(m) = T₀ + (T'(m) − T₀) / alone_within_node,  T₀ = T'(4 B)
/// with T' as in a training. NCCL's cost model is of messages alone already.
Timer alone_by_sheets(const Machine& machine, const Placement& placement, std::string_view word,
                      Timer timer) {
  const bool nccl = word == by_nccl;
  const bool of_gpus = machine.cluster.device.kind == DeviceKind::gpu;
  const SheetRange range = nccl ? range_of_nccl : of_gpus ? range_of_gpus : range_of_processors;
  const bool competes = of_gpus && !nccl && placement.nodes() == 1;
  return [timer = std::move(timer), range, competes](Bytes m) {
    Timed timed = timer(m);
    Seconds value = timed.time.value;
    if (competes) {
      const Seconds start = timer(std::min(m, smallest_message)).time.value;
      value = start + (value - start) / alone_within_node;
    }
    timed.time = {value, range.low * value, range.high * value};
    return timed;
  };
}

/// Times of all sizes and algorithms on one number of ranks.
void add_ranks(const Machine& machine, const CollectiveQuestion& question, int ranks, Notes& notes,
               CollectiveAnswer& answer) {
  const Placement placement{ranks, machine.cluster.devices_per_node};
  const bool by_sheets = !machine.fitted && machine.collectives.empty();
  std::vector<std::pair<std::string, Timer>> timers;
  const auto leave_out = [&](const std::string& word, const ConfigError& error) {
    answer.left_out.push_back({ranks, word, error.what()});
  };
  for (const std::string& word : question.algorithms) {
    try {
      Timer timer = timer_of(machine, placement, question.collective, word, notes);
      if (by_sheets) timer = alone_by_sheets(machine, placement, word, std::move(timer));
      timers.emplace_back(word, std::move(timer));
      static_cast<void>(timers.back().second(question.sizes.front()));
    } catch (const ConfigError& error) {
      leave_out(word, error);
      std::erase_if(timers, [&](const auto& timer) { return timer.first == word; });
    }
  }
  for (const Bytes size : question.sizes) {
    for (auto& [word, timer] : timers) {
      if (!timer) continue;
      try {
        const Timed timed = timer(size);
        answer.times.push_back({ranks, placement.nodes(), size, word, timed.time, timed.source});
      } catch (const ConfigError& error) {
        leave_out(word, error);
        timer = nullptr;
      }
    }
  }
}

}  // namespace

std::vector<std::string> single_algorithms(const Machine& machine, Collective collective) {
  std::vector<std::string> words{std::string(by_library)};
  for (const collective::Algorithm* algorithm : collective::algorithms_of(collective)) {
    if (needs_ranks_alone(*algorithm)) words.emplace_back(algorithm->name);
  }
  if (collective == Collective::all_reduce) words.emplace_back(chain_of_ranks);
  if (machine.cluster.nccl && collective != Collective::all_to_all) words.emplace_back(by_nccl);
  return words;
}

std::vector<std::string> collective_words(const Machine& machine, Collective collective) {
  std::vector<std::string> words = single_algorithms(machine, collective);
  for (const std::string_view rule : choosing_rules(collective)) words.emplace_back(rule);
  if (collective == Collective::all_reduce) words.emplace_back(adding_switches);
  return words;
}

CollectiveAnswer answer(const Machine& machine, const CollectiveQuestion& question) {
  check(machine, question);
  CollectiveAnswer answer;
  answer.collective = question.collective;
  answer.on = machine.cluster.name;
  answer.fitted = machine.fitted;
  answer.algorithms = question.algorithms;
  Notes notes;
  for (const int ranks : question.ranks) add_ranks(machine, question, ranks, notes, answer);
  if (answer.times.empty()) throw ConfigError(answer.left_out.front().why);
  const Placement largest{std::ranges::max(question.ranks), machine.cluster.devices_per_node};
  if (largest.nodes() > machine.cluster.nodes) {
    notes.add(NoteKind::more_nodes, {machine.cluster.nodes, machine.cluster.name},
              {largest.nodes()});
  }
  answer.notes = notes.all();
  return answer;
}

}  // namespace dlscale::model
