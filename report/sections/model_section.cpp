#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/network/listed_network.hpp"
#include "core/text/numbers.hpp"
#include "report/kernels/kernel_study.hpp"
#include "report/kernels/measured_cases.hpp"
#include "report/kernels/roofline_table.hpp"
#include "report/sections/sections.hpp"

namespace dlscale::report {
namespace {

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

}  // namespace

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

}  // namespace dlscale::report
