#include "report/sections/measured_facts.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/results/usable_rows.hpp"
#include "core/text/numbers.hpp"
#include "core/text/quantity_text.hpp"
#include "report/figure/stacked_bars.hpp"
#include "report/kernels/algorithm_tables.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/results/axes.hpp"
#include "report/results/rates.hpp"
#include "report/table/interval.hpp"

namespace dlscale::report {
namespace {

/// A tile, and the same in a clause.
struct Fact {
  Tile tile;
  std::string clause;
  bool is_whole = false;  ///< the clause alone is the answer, and begins with a name
};

/// The question (rows with the same axes but for the repeat) with the largest value in the middle
/// of its launches.
struct Best {
  const Measurement* row = nullptr;  ///< the launch in the middle
  double value = 0;                  ///< its value
  double low = 0;                    ///< of all launches
  double high = 0;                   ///< likewise
  std::size_t launches = 0;
  std::size_t questions = 0;  ///< that were measured
};

double number_of(const Measurement& row, const std::string& axis) {
  const std::string text = axis_or_empty(row, axis);
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// The middle and not the best launch, whose luck would count. Absent if `value` is above 0 for
/// none.
std::optional<Best> best_of(const ReportInput& input, std::string_view benchmark,
                            const std::function<double(const Measurement&)>& value) {
  using Launch = std::pair<double, const Measurement*>;
  std::map<std::map<std::string, std::string>, std::vector<Launch>> questions;
  for (const ResultFile& file : input.results) {
    for (const Measurement& row : file.measurements) {
      if (row.benchmark != benchmark || !is_timed(row)) continue;
      if (const double found = value(row); found > 0) {
        std::map<std::string, std::string> question = row.axes;
        question.erase("repeat");
        questions[std::move(question)].emplace_back(found, &row);
      }
    }
  }
  Best best;
  for (auto& [axes, launches] : questions) {
    std::ranges::sort(launches, {}, &Launch::first);
    const auto& [middle, row] = launches[(launches.size() - 1) / 2];
    if (middle <= best.value) continue;
    best = {row, middle, launches.front().first, launches.back().first, launches.size(),
            questions.size()};
  }
  return best.row == nullptr ? std::nullopt : std::optional(best);
}

template <class Rate>
double or_zero(const std::optional<Rate>& rate) {
  return rate ? rate->si() : 0;
}

/// "±0.3 %", the interval of the only launch; "5 launches: -2.1 % to +1.3 %" of several; empty
/// without one.
std::string interval_of(const Best& best) {
  if (best.launches > 1) {
    return fmt::format("{} launches: {}", best.launches,
                       changes_from_to(best.low / best.value, best.high / best.value));
  }
  const auto* series = main_series(*best.row);
  const bool known = series != nullptr && has_interval(series->second.summary);
  return known ? interval_text(series->second.summary) : "";
}

/// "442 GFLOP/s ±0.3 %"; "442 GFLOP/s (5 launches: -2.1 % to +1.3 %)".
std::string with_interval(const std::string& text, const Best& best) {
  const std::string interval = interval_of(best);
  if (interval.empty()) return text + " (no interval)";
  return best.launches > 1 ? fmt::format("{} ({})", text, interval) : text + " " + interval;
}

/// "avx512, best of 3, ±0.3 %": what it is of, the values of axes, and the interval.
std::string detail_of(const Best& best, std::initializer_list<const char*> axes,
                      const std::string& of = "") {
  std::vector<std::string> parts;
  if (!of.empty()) parts.push_back(of);
  for (const char* axis : axes) {
    if (std::string value = axis_or_empty(*best.row, axis); !value.empty()) parts.push_back(value);
  }
  if (best.questions > 1) parts.push_back(fmt::format("best of {}", best.questions));
  if (std::string interval = interval_of(best); !interval.empty()) {
    parts.push_back(std::move(interval));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

/// Networks that were trained, at most three, since a page has five tiles.
std::set<std::string> trained_networks(const ReportInput& input) {
  std::set<std::string> networks;
  for (const ResultFile& file : input.results) {
    for (const Measurement& row : file.measurements) {
      if (row.benchmark == "e2e" && networks.size() < 3) {
        networks.insert(axis_or_empty(row, "network"));
      }
    }
  }
  return networks;
}

void add_trainings(std::vector<Fact>& facts, const ReportInput& input) {
  for (const std::string& network : trained_networks(input)) {
    const auto found = best_of(input, "e2e", [&network](const Measurement& row) {
      const auto time = row.series.find("t_iter");
      if (time == row.series.end() || !(time->second.summary.median > 0)) return 0.0;
      if (axis_or_empty(row, "network") != network) return 0.0;
      return number_of(row, "batch") * number_of(row, "ranks") / time->second.summary.median;
    });
    if (!found) continue;
    const std::string rate = significant(found->value, 4) + " images/s";
    const std::string ranks = counted(std::lround(number_of(*found->row, "ranks")), "rank");
    facts.push_back(
        {{"Training of " + network, rate, detail_of(*found, {"schedule"}, "on " + ranks),
          Tone::plain},
         fmt::format("{} trains at {} on {}", network, with_interval(rate, *found), ranks)});
  }
}

/// "69 are ties within the 95 % intervals": the cases that intervals leave open; empty if none are.
std::string open_text(const MostOftenFastest& found) {
  std::vector<std::string> parts;
  const auto add = [&parts](long long number, const char* one, const char* several) {
    if (number > 0) parts.push_back(fmt::format("{} {}", number, number == 1 ? one : several));
  };
  add(found.ties, "is a tie within the 95 % intervals", "are ties within the 95 % intervals");
  add(found.unknown, "has too few samples for an interval",
      "have too few samples for an interval");
  return fmt::format("{}", fmt::join(parts, "; "));
}

void add_convolutions(std::vector<Fact>& facts, const ReportInput& input) {
  if (!input.kernels) return;
  const auto found = most_often_fastest(input.results);
  if (!found) return;
  const std::string open = open_text(*found);
  const std::string cases = counted(found->cases, "case") + " (layer, pass and batch)";
  if (found->algorithm.empty()) {
    facts.push_back({{"Fastest convolution", "not known", "of " + cases, Tone::caution},
                     fmt::format("no convolution is alone the fastest in {}: {}", cases, open)});
    return;
  }
  const long long others = found->cases - found->wins - found->ties - found->unknown;
  const std::string rest = (others > 0 ? fmt::format(", another in {}", others) : "") +
                           (open.empty() ? "" : "; " + open);
  facts.push_back({{"Fastest convolution, most often", found->algorithm,
                    fmt::format("alone in {} of {}", found->wins, cases), Tone::plain},
                   fmt::format("{} is the fastest in {} of {}{}", found->algorithm, found->wins,
                               cases, rest),
                   true});
}

void add_messages(std::vector<Fact>& facts, const ReportInput& input) {
  const auto found = best_of(input, "comm", [](const Measurement& row) {
    return is_sent_as_in_training(row) && axis_or_empty(row, "collective") == "all_reduce"
               ? or_zero(rates(row).busbw)
               : 0.0;
  });
  if (!found) return;
  const std::string rate = to_text(BytesPerSecond(found->value));
  const auto ranks = counted(std::lround(number_of(*found->row, "ranks")), "rank");
  facts.push_back({{"Bus bandwidth of an all-reduce", rate,
                    fmt::format("{} on {}, {}", to_text(Bytes(number_of(*found->row, "bytes"))),
                                ranks, detail_of(*found, {})),
                    Tone::plain},
                   fmt::format("an all-reduce on {} reaches a bus bandwidth of {}", ranks,
                               with_interval(rate, *found))});
}

/// "256 × 448 × 1152", the rows, columns and depth of a product, by its key "gemm m256 n448 …".
std::string product_name(const std::string& key) {
  std::istringstream words(key.substr(0, key.find(" ta")));
  std::vector<std::string> sizes;
  std::string word;
  words >> word;  // "gemm"
  while (words >> word) sizes.push_back(word.substr(1));
  return fmt::format("{}", fmt::join(sizes, " × "));
}

void add_products(std::vector<Fact>& facts, const ReportInput& input) {
  const auto found =
      best_of(input, "gemm", [](const Measurement& row) { return or_zero(rates(row).flops); });
  if (!found) return;
  const std::string rate = to_text(FlopsPerSecond(found->value));
  const std::string in = axis_or_empty(*found->row, "dtype");
  facts.push_back(
      {{"Matrix products in " + in, rate,
        detail_of(*found, {"backend"},
                  "of " + product_name(axis_or_empty(*found->row, "kernel"))),
        Tone::plain},
       fmt::format("matrix products in {} reach {}", in, with_interval(rate, *found))});
}

/// The data type of all convolutions by algorithm; empty if they have several, or there are none.
std::string dtype_of_convolutions(const ReportInput& input) {
  std::set<std::string> dtypes;
  for (const Measurement* row : algorithm_rows(input.results)) {
    dtypes.insert(axis_or_empty(*row, "dtype"));
  }
  return dtypes.size() == 1 ? *dtypes.begin() : "";
}

/// The fastest multiply-adds, in the data type of the convolutions that stand beside them.
void add_arithmetic(std::vector<Fact>& facts, const ReportInput& input) {
  const std::string dtype = dtype_of_convolutions(input);
  const auto found = best_of(input, "peak", [&dtype](const Measurement& row) {
    const bool asked = dtype.empty() || axis_or_empty(row, "dtype") == dtype;
    return asked && axis_or_empty(row, "operation") == "fma" ? or_zero(rates(row).flops) : 0.0;
  });
  if (!found) return;
  const std::string rate = to_text(FlopsPerSecond(found->value));
  const std::string in = axis_or_empty(*found->row, "dtype");
  facts.push_back(
      {{"Arithmetic in " + in, rate, detail_of(*found, {"isa"}), Tone::plain},
       fmt::format("arithmetic in {} reaches {}", in, with_interval(rate, *found))});
}

/// The bandwidth of the largest arrays, which no cache holds.
void add_memory(std::vector<Fact>& facts, const ReportInput& input) {
  const auto largest =
      best_of(input, "memory", [](const Measurement& row) { return number_of(row, "bytes"); });
  if (!largest) return;
  const auto found = best_of(input, "memory", [&](const Measurement& row) {
    return number_of(row, "bytes") < largest->value ? 0.0 : or_zero(rates(row).bytes);
  });
  if (!found) return;
  const std::string rate = to_text(BytesPerSecond(found->value));
  const auto size = to_text(Bytes(number_of(*found->row, "bytes")));
  facts.push_back({{"Bandwidth of memory", rate,
                    detail_of(*found, {"operation"}, "of arrays of " + size), Tone::plain},
                   fmt::format("memory passes {}", with_interval(rate, *found))});
}

/// Sweeps over working sets in pages of the usual size; all of them where no other was made.
std::vector<const Measurement*> level_sweeps(const ReportInput& input) {
  std::vector<const Measurement*> usual;
  std::vector<const Measurement*> huge;
  for (const ResultFile& file : input.results) {
    for (const Measurement& row : file.measurements) {
      const bool levels = row.benchmark == "latency" && axis_or_empty(row, "operation") == "levels";
      if (!levels || !is_timed(row) || values_of(row, "level_latency").empty()) continue;
      if (row.at("level_latency").unit != "s") continue;
      (axis_or_empty(row, "pages") == "huge" ? huge : usual).push_back(&row);
    }
  }
  return usual.empty() ? huge : usual;
}

/// The last level that a sweep saw is memory, if its working sets outgrow the caches.
void add_latency(std::vector<Fact>& facts, const ReportInput& input) {
  const auto last = [](const Measurement* row) { return values_of(*row, "level_latency").back(); };
  std::vector<const Measurement*> sweeps = level_sweeps(input);
  if (sweeps.empty()) return;
  std::ranges::sort(sweeps, {}, last);
  const Measurement& middle = *sweeps[sweeps.size() / 2];
  const std::string time = to_text(Seconds(last(&middle)));
  const std::vector<double> low = values_of(middle, "level_latency_low");
  const std::vector<double> high = values_of(middle, "level_latency_high");
  const std::string interval =
      low.empty() || high.empty()
          ? "no interval"
          : "95 % interval " + from_to(to_text(Seconds(low.back())), to_text(Seconds(high.back())));
  const bool is_huge = axis_or_empty(middle, "pages") == "huge";
  facts.push_back(
      {{"Latency of memory", time,
        fmt::format("with {} pages, {}", is_huge ? "huge" : "usual", interval), Tone::plain},
       fmt::format("memory answers in {} ({})", time, interval)});
}

std::vector<Fact> facts_of(const ReportInput& input) {
  std::vector<Fact> facts;
  for (const auto& add : {add_trainings, add_convolutions, add_messages, add_products,
                          add_arithmetic, add_memory, add_latency}) {
    add(facts, input);
  }
  if (facts.size() > 5) facts.resize(5);
  return facts;
}

std::string processor_name(const ReportInput& input) {
  const std::string cpu = input.results.empty() ? "" : input.results.front().header.environment.cpu;
  return cpu.empty() ? "this machine" : cpu;
}

/// The question that most of the results answer.
std::string question_of(const ReportInput& input) {
  const std::string where = processor_name(input);
  if (has_benchmark(input.results, {"e2e"})) return "How fast is training on " + where + "?";
  if (input.kernels) return "Which convolution is the fastest on " + where + "?";
  if (has_benchmark(input.results, {"comm"})) return "How fast are messages on " + where + "?";
  return "What does " + where + " reach?";
}

std::string sentence_of_facts(const std::vector<Fact>& facts, const ReportInput& input) {
  std::size_t rows = 0;
  for (const ResultFile& file : input.results) rows += file.measurements.size();
  if (facts.empty()) {
    return fmt::format("{} in {}.", counted(static_cast<long long>(rows), "measurement"),
                       counted(std::ssize(input.results), "file"));
  }
  std::string text = facts.front().clause;
  if (facts.front().is_whole) return text + ".";
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  if (facts.size() > 1) text += "; " + facts[1].clause;
  return text + ".";
}

std::vector<Tile> noise_tiles(const NoiseFinding& finding) {
  std::vector<Tile> tiles{
      {"Smallest change seen", finding.sees, "on every kernel, by 8 of 10 gates", Tone::plain},
      {"Margin of the gate", percent(finding.margin), "smaller changes do not matter",
       Tone::plain}};
  if (!finding.spreads.empty()) {
    const auto& [kernel, spread] = *std::ranges::max_element(
        finding.spreads, {}, &std::pair<const std::string, double>::second);
    tiles.push_back({"Noisiest kernel", kernel,
                     fmt::format("spread of identical runs: {}", percent(spread)), Tone::plain});
  }
  return tiles;
}

/// Absent without kernels that vary.
std::optional<Figure> noise_figure(const NoiseFinding& finding) {
  figure::StackedBars bars{"noise",
                           "Noise of each kernel: the spread of the change between identical runs",
                           "spread of identical runs, % (lower is better)",
                           ""};
  for (const auto& [kernel, spread] : finding.spreads) {
    bars.bars.push_back({kernel, "", {{"spread", spread}}});
  }
  bars.unit = "%";
  bars.factor = 100;
  return figure::stacked_bars(bars);
}

/// The whole page of studies of noise without results.
Page noise_page(const std::vector<NoiseFinding>& findings) {
  Page page;
  page.kind = "noise";
  const NoiseFinding& first = findings.front();
  page.question = fmt::format("How small a change does a gate see on {}?", first.machine);
  page.verdict = fmt::format("Smallest detectable change: {}.", first.sentence);
  page.tiles = noise_tiles(first);
  if (std::optional<Figure> drawn = noise_figure(first)) {
    page.picture = drawn->name;
    page.figures.push_back(std::move(*drawn));
  }
  Section section{"noise", "Studies of noise", {}};
  for (const NoiseFinding& finding : findings) {
    section.blocks.emplace_back(Paragraph{fmt::format(
        "{}, {}, {}: {}.", finding.file, finding.machine, finding.date, finding.sentence)});
  }
  page.sections = {std::move(section)};
  return page;
}

}  // namespace

Page measurement_page(const ReportInput& input) {
  const bool has_other = !input.results.empty() || !input.suites.empty() || input.history;
  if (!has_other && !input.noise.empty()) return noise_page(input.noise);
  const std::vector<Fact> facts = facts_of(input);
  Page page;
  page.kind = "measurement";
  page.question = question_of(input);
  page.verdict = sentence_of_facts(facts, input);
  for (const Fact& fact : facts) page.tiles.push_back(fact.tile);
  page.picture = input.kernels ? "crossover" : "allreduce";
  return page;
}

}  // namespace dlscale::report
