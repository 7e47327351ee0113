#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/base/error.hpp"
#include "core/network/network.hpp"
#include "core/results/communication_profile.hpp"
#include "core/text/numbers.hpp"
#include "report/kernels/algorithm_ratios.hpp"
#include "report/kernels/algorithm_summary.hpp"
#include "report/kernels/algorithm_tables.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/kernels/placed_table.hpp"
#include "report/kernels/processor_tables.hpp"
#include "report/kernels/roofline_table.hpp"
#include "report/messages/message_rows.hpp"
#include "report/results/axes.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {

namespace {

void fold(Section& section, Table table) {
  if (!table.rows.empty()) section.blocks.emplace_back(Folded{std::move(table)});
}

void append_or_fold(Section& section, Table table) {
  if (table.rows.size() > most_unfolded_rows) {
    fold(section, std::move(table));
  } else if (!table.rows.empty() || !table.notes.empty()) {
    section.blocks.emplace_back(std::move(table));
  }
}

void append_roofline(Section& section, const KernelStudy& study) {
  section.blocks.emplace_back(FigureSlot{"roofline"});
  if (!study.roofline()) {
    section.blocks.emplace_back(Paragraph{"No roofline: " + study.obstacle()});
    return;
  }
  for (Table& table : ceiling_tables(*study.roofline(), study.placed())) {
    append_or_fold(section, std::move(table));
  }
}

using lowering::Method;
using model::JudgedSample;

/// Two rivals at a shape that neither was fitted to: the faster by prediction of our Winograd
/// F(4×4,3×3), fused or not, and oneDNN's direct convolution.
struct Rivals {
  const JudgedSample* ours = nullptr;
  const JudgedSample* direct = nullptr;

  [[nodiscard]] bool complete() const { return ours != nullptr && direct != nullptr; }
  [[nodiscard]] bool ahead() const {
    return ours->prediction.time.value < direct->prediction.time.value;
  }
  /// Ahead by more than both intervals.
  [[nodiscard]] bool surely_ahead() const {
    return ours->prediction.time.high < direct->prediction.time.low;
  }
  [[nodiscard]] double measured() const { return ours->sample.time / direct->sample.time; }
  /// The measured intervals overlap, as in tie() of measured_cases.hpp.
  [[nodiscard]] bool tied() const {
    return ours->sample.low <= direct->sample.high && direct->sample.low <= ours->sample.high;
  }
};

void consider(Rivals& rivals, const JudgedSample& judged) {
  const model::Way& way = judged.sample.what.way;
  if (way.backend == "onednn" && way.method == Method::direct) rivals.direct = &judged;
  const bool winograd =
      way.method == Method::winograd_f4 || way.method == Method::winograd_f4_fused;
  if (way.backend != "native" || !winograd) return;
  const bool faster =
      rivals.ours == nullptr || judged.prediction.time.value < rivals.ours->prediction.time.value;
  if (faster) rivals.ours = &judged;
}

std::vector<Rivals> all_rivals(const model::KernelJudgement& judgement) {
  std::map<std::tuple<std::string, int, Pass, int, std::string>, Rivals> questions;
  for (const JudgedSample& judged : judgement.samples) {
    const model::KernelCase& what = judged.sample.what;
    const model::Way& way = what.way;
    consider(questions[{what.kernel, what.batch, way.pass, way.threads, way.cache}], judged);
  }
  std::vector<Rivals> all;
  for (const auto& [question, rivals] : questions) {
    if (rivals.complete()) all.push_back(rivals);
  }
  return all;
}

/// "vgg16 conv1_2", from a sample's "vgg16 conv1_2" or "list_L1 L1".
std::string layer_text(const std::string& where) {
  const std::size_t space = where.find(' ');
  const std::string layer = where.substr(space + 1);
  return dlscale::set_of(where.substr(0, space), layer) + " " + layer;
}

std::string worst_text(const std::vector<Rivals>& rivals) {
  const Rivals& worst = *std::ranges::max_element(rivals, {}, &Rivals::measured);
  const model::KernelCase& what = worst.ours->sample.what;
  return fmt::format("{} at {} {}, batch {}", significant(worst.measured(), 3),
                     layer_text(worst.ours->sample.layers.front()), pass_name(what.way.pass),
                     what.batch);
}

void append_row(Table& table, const char* claim, std::vector<Rivals> rivals,
                bool (Rivals::*claimed)() const) {
  std::erase_if(rivals, [claimed](const Rivals& each) { return !(each.*claimed)(); });
  const auto tied = std::ranges::count_if(rivals, &Rivals::tied);
  const auto right = std::ranges::count_if(
      rivals, [](const Rivals& each) { return each.measured() < 1 && !each.tied(); });
  const bool all = right == std::ssize(rivals);
  table.rows.push_back({{claim},
                        {std::to_string(rivals.size())},
                        {std::to_string(right), all ? Tone::good : Tone::caution},
                        {std::to_string(tied)},
                        {rivals.empty() ? "–" : worst_text(rivals)}});
}

/// Whether our Winograd is ahead of oneDNN's direct convolution where the model says so.
Table winograd_claims(const model::KernelJudgement& judgement) {
  const std::vector<Rivals> rivals = all_rivals(judgement);
  Table table;
  table.title = "Our Winograd F(4,3) and oneDNN's direct convolution, by the model and measured";
  if (rivals.empty()) return table;
  table.columns = {{"by the model", Align::left},
                   {"cases"},
                   {"ahead as measured"},
                   {"tied as measured"},
                   {"largest ratio of times measured", Align::left}};
  append_row(table, "ahead", rivals, &Rivals::ahead);
  append_row(table, "ahead beyond both 95 % intervals", rivals, &Rivals::surely_ahead);
  table.notes = {fmt::format("of {} that both ran, at shapes that were not fitted; ours: the "
                             "better by prediction of fused and not",
                             counted(std::ssize(rivals), "case")),
                 "tied: the 95 % intervals of both overlap, so that neither is known to be ahead"};
  return table;
}

using Counts = std::map<std::string, long long>;

template <class Visit>
void for_each_measurement(const ReportInput& input, Visit visit) {
  for (const ResultFile& file : input.results) {
    for (const Measurement& each : file.measurements) visit(each);
  }
}

/// Reason why a page without training runs does not show a measurement: "conv, other layers". Empty
/// if it does.
std::string not_shown(const Measurement& each) {
  if (each.benchmark == profile_benchmark || is_of_messages(each)) return "";
  if (each.benchmark == "e2e") return "e2e, which a machine.json beside them would predict";
  if (each.benchmark != "conv") return is_of_processor(each) ? "" : each.benchmark;
  if (!axis_or_empty(each, "kernel").starts_with("convolution ")) return "conv, other layers";
  return names_algorithm(each) ? "" : "conv, what training runs by itself";
}

void append_not_shown(Items& items, const ReportInput& input) {
  Counts counts;
  for_each_measurement(input, [&](const Measurement& each) {
    if (const std::string what = not_shown(each); !what.empty()) ++counts[what];
  });
  std::vector<std::string> parts;
  for (const auto& [what, count] : counts) parts.push_back(fmt::format("{} ({})", what, count));
  if (parts.empty()) return;
  items.lines.push_back(fmt::format(
      "measurements that have no table here, only their result files: {}", fmt::join(parts, ", ")));
}

void append_unchecked(Items& items, const ReportInput& input) {
  for (const ResultFile& file : input.results) {
    const auto check = file.header.run.find("check");
    if (check == file.header.run.end() || check->second != "no") continue;
    items.lines.push_back(
        fmt::format("the answers of {} were not checked", file.path.filename().string()));
  }
}

/// Appends counts of algorithm rows without a regular time.
void append_states(Items& items, const ReportInput& input) {
  std::map<Status, long long> counts;
  for (const Measurement* row : algorithm_rows(input.results)) ++counts[row->status];
  const auto append = [&](Status status, const char* what) {
    if (counts[status] > 0) items.lines.push_back(counted(counts[status], "measurement") + what);
  };
  append(Status::unsupported,
         " refused, as the algorithm does not offer the shape; the tables by layer say why");
  append(Status::wrong, " without a time, because the answer was wrong");
  append(Status::interrupted, " interrupted, whose times do not count");
  append(Status::unstable, " not settled in the time allowed; they count with their medians");
}

void append_kernels(Items& items, const KernelStudy& study) {
  const model::LeftOut& left_out = study.not_modelled();
  const auto append = [&items](int count, const char* what) {
    if (count > 0) items.lines.push_back(counted(count, "measurement") + what);
  };
  append(left_out.other_kernels,
         " neither on the roofline nor modelled: no convolution, or not by an algorithm whose work "
         "is known");
  append(left_out.other_precisions, " neither on the roofline nor modelled: not in f32");
  append(left_out.other_layouts,
         " neither on the roofline nor modelled: in a layout that was asked for");
  append(left_out.other_values, " neither on the roofline nor modelled: of other values");
  append(left_out.beside_others, " neither on the roofline nor modelled: beside other ranks");
  append(study.other_threads(), " not on the roofline: with another number of threads than most");
  append(study.on_devices(), " not on the roofline of the processor: on a GPU");
  append(study.unbounded(),
         " not on the roofline: with what the step before has just written in the caches, "
         "which no ceiling bounds");
}

}  // namespace

std::vector<Table> convolution_summary(const ReportInput& input) {
  return {algorithms_table(input.results, *input.kernels), answers_table(input.results),
          backends_table(input.results)};
}

std::vector<Table> ratio_tables(const ReportInput& input) {
  return {winograd_summary(input.results), fourier_ratios(input.results),
          product_shares(input.results)};
}

Section convolution_section(const ReportInput& input) {
  Section section{"convolutions", "Convolutions by algorithm", {}};
  section.blocks.emplace_back(Paragraph{fastest_sentence(input.results)});
  for (Table& table : convolution_summary(input)) append_or_fold(section, std::move(table));
  for (Table& table : fastest_tables(input.results)) fold(section, std::move(table));
  append_roofline(section, *input.kernels);
  section.blocks.emplace_back(
      Paragraph{"Every algorithm, layer by layer, with speed, workspace, errors and what ran:"});
  for (auto& [set, tables] : tables_by_set(input.results, *input.kernels)) {
    section.blocks.emplace_back(Appendix{set, std::move(tables)});
  }
  return section;
}

Section ratio_section(const ReportInput& input) {
  Section section{"ratios", "Ratios inside one run", {}};
  try {
    processor_of(input.results);
  } catch (const ConfigError& error) {
    section.blocks.emplace_back(Paragraph{std::string("No ratios: ") + error.what()});
    return section;
  }
  for (Table& table : ratio_tables(input)) append_or_fold(section, std::move(table));
  fold(section, winograd_ratios(input.results));
  if (section.blocks.empty()) {
    section.blocks.emplace_back(
        Paragraph{"No two implementations of the same algorithm were measured at one layer."});
  }
  return section;
}

Section model_section(const ReportInput& input) {
  const KernelStudy& study = *input.kernels;
  Section section{"models", "Models of kernel times", {}};
  if (!study.judgement()) {
    section.blocks.emplace_back(Paragraph{"No model was judged: " + study.judgement_obstacle()});
    return section;
  }
  Document document = roofline_document(*study.judgement(), study.not_modelled(), {});
  section.blocks.emplace_back(Paragraph{document.lead});
  for (Table& table : document.tables) section.blocks.emplace_back(std::move(table));
  if (Table claims = winograd_claims(*study.judgement()); !claims.rows.empty()) {
    section.blocks.emplace_back(std::move(claims));
  }
  return section;
}

Section left_out_section(const ReportInput& input) {
  Items items{input.left_out};
  append_unchecked(items, input);
  if (!input.trained) append_not_shown(items, input);
  if (input.kernels) {
    append_states(items, input);
    append_kernels(items, *input.kernels);
  }
  if (items.lines.empty()) items.lines.emplace_back("Nothing.");
  return {"left-out", "What is left out", {std::move(items)}};
}

}  // namespace dlscale::report
