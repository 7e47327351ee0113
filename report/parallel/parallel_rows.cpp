#include "report/parallel/parallel_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/text/numbers.hpp"
#include "model/parallel/search/framework_ways.hpp"

namespace dlscale::report {
namespace {

using model::parallel_time::AnsweredPlan;
using model::parallel_time::ComparedPlans;
using model::parallel_time::FitQuestion;

/// The same plan but for its number of replicas.
bool are_alike(const AnsweredPlan& one, const AnsweredPlan& other) {
  parallel::ParallelPlan plan = one.asked;
  plan.data = other.asked.data;
  return plan == other.asked;
}

/// The plan of one GPU has no words.
std::string text_of(const parallel::ParallelPlan& plan) {
  const std::string text = parallel::to_text(plan);
  return text.empty() ? "data=1" : text;
}

int whole(double number) {
  return static_cast<int>(std::lround(number));
}

ParallelRow row_of(const ComparedPlans& plans, const AnsweredPlan& from) {
  const model::parallel_time::ParallelQuestion& question = plans.question;
  ParallelRow row;
  row.plan = text_of(from.asked);
  parallel::ParallelPlan alone = from.asked;
  alone.data = 1;
  row.without_data = text_of(alone);
  row.network = plans.network;
  row.cluster = plans.cluster;
  row.precision = plans.dtype;
  row.framework = question.framework;
  row.family = from.setting.family->name;
  row.global_batch = question.global_batch;
  row.sequence = question.shape.sequence;
  row.gpus = whole(from.answer.sizes.gpus());
  row.micro_batch = whole(from.answer.sizes.micro_batch);
  row.micro_batches = whole(from.answer.sizes.micro_batches);
  row.seconds = from.answer.seconds();
  row.low = from.answer.low();
  row.high = from.answer.high();
  row.utilisation = flop_utilisation(question, from.setting, from.answer);
  row.parts = step_parts(from.setting, from.answer);
  row.bound = bound_of(row.parts, from.answer.sizes);
  row.memory = model::parallel_time::fit_question(from.answer.memory, from.hardware.memory);
  row.stages = from.answer.plan.stages;
  const auto* const ways = model::parallel_search::ways_of(question.framework);
  if (ways != nullptr && !ways->runs(from.asked)) row.not_run_by = ways->title;
  return row;
}

/// A, B, … Z, then by number.
std::string label_of(std::size_t plan) {
  constexpr std::size_t letters = 26;
  return plan < letters ? std::string(1, static_cast<char>('A' + plan)) : std::to_string(plan + 1);
}

std::string micro_batches_of(const ParallelRow& row) {
  return fmt::format("{} micro-batch{} of {}", row.micro_batches,
                     row.micro_batches == 1 ? "" : "es", counted(row.micro_batch, "sequence"));
}

}  // namespace

std::vector<std::string> plan_labels(const ComparedPlans& plans) {
  std::vector<std::string> labels;
  std::size_t plan = 0;
  for (std::size_t i = 0; i < plans.rows.size(); ++i) {
    if (i > 0 && !are_alike(plans.rows[i - 1], plans.rows[i])) ++plan;
    labels.push_back(label_of(plan));
  }
  if (plan == 0) std::ranges::fill(labels, "");
  return labels;
}

std::vector<ParallelRow> parallel_rows(const ComparedPlans& plans) {
  EXPECT(!plans.rows.empty());
  const std::vector<std::string> labels = plan_labels(plans);
  std::vector<ParallelRow> rows;
  for (std::size_t i = 0; i < plans.rows.size(); ++i) {
    rows.push_back(row_of(plans, plans.rows[i]));
    rows.back().label = labels[i];
  }
  return rows;
}

Fields<ParallelRow> parallel_question_fields() {
  using enum Meaning;
  return {{"network", key, &ParallelRow::network},
          {"cluster", key, &ParallelRow::cluster},
          {"plan", key, &ParallelRow::plan},
          {"ranks", key, &ParallelRow::gpus},
          {"global_batch", key, &ParallelRow::global_batch},
          {"sequence_tokens", key, &ParallelRow::sequence},
          {"dtype", key, &ParallelRow::precision},
          {"framework", key, &ParallelRow::framework},
          {"family", key, &ParallelRow::family},
          {"micro_batch", key, &ParallelRow::micro_batch},
          {"micro_batches", key, &ParallelRow::micro_batches}};
}

void add_caveats(Json& object, const ParallelRow& row) {
  if (row.stages > 1) object["fullest_stage"] = row.memory.stage + 1;
  if (!row.not_run_by.empty()) object["not_run_by"] = row.not_run_by;
}

const Json& best_plan(const Json& plans) {
  const auto fit_and_rate = [](const Json& plan) {
    const auto fits = plan.at("fits").get<std::string>();
    const char* rate = plan.contains("tokens_per_s") ? "tokens_per_s" : "samples_per_s";
    return std::pair(fits == "yes" ? 2 : fits == "no" ? 0 : 1, plan.at(rate).get<double>());
  };
  return *std::max_element(plans.begin(), plans.end(), [&](const Json& a, const Json& b) {
    return fit_and_rate(a) < fit_and_rate(b);
  });
}

Fields<ParallelRow> parallel_memory_fields() {
  using enum Meaning;
  using model::memory::MemoryEstimate;
  const auto need = [](double MemoryEstimate::*end) {
    return via(&ParallelRow::memory, &FitQuestion::need, end);
  };
  Field<ParallelRow> verdict{"fits", state, via(&ParallelRow::memory, fits_word)};
  verdict.states = {"yes", "no", "unsure"};
  return {{"memory_bytes", value, need(&MemoryEstimate::bytes)},
          {"memory_low_bytes", value, need(&MemoryEstimate::low)},
          {"memory_high_bytes", value, need(&MemoryEstimate::high)},
          {"device_memory_bytes", value, via(&ParallelRow::memory, &FitQuestion::device_bytes)},
          {"fit_chance", value, via(&ParallelRow::memory, model::parallel_time::chance_of)},
          verdict};
}

std::string fits_word(const FitQuestion& memory) {
  if (memory.need.high <= memory.device_bytes) return "yes";
  return memory.need.low > memory.device_bytes ? "no" : "unsure";
}

Cell fits_cell(const FitQuestion& memory) {
  const std::string word = fits_word(memory);
  return {word, word == "yes" ? Tone::good : word == "no" ? Tone::bad : Tone::caution};
}

std::string in_gb(double bytes) {
  constexpr double giga = 1e9;
  constexpr double least_shown = 5e6;
  return std::abs(bytes) < least_shown ? "0" : significant(bytes / giga, 3);
}

std::string need_text(const model::memory::MemoryEstimate& need) {
  return fmt::format("{} ({} … {})", in_gb(need.bytes), in_gb(need.low), in_gb(need.high));
}

FitVerdict fit_verdict(const FitQuestion& memory) {
  constexpr double likely = 0.75;
  constexpr double unlikely = 1 - likely;
  const std::string word = fits_word(memory);
  if (word == "yes") return FitVerdict::surely;
  if (word == "no") return FitVerdict::not_at_all;
  const double chance = chance_of(memory);
  if (chance >= likely) return FitVerdict::probably;
  return chance > unlikely ? FitVerdict::unsure : FitVerdict::probably_not;
}

std::string fit_sentence(const FitQuestion& memory, int stages, std::string_view worker) {
  constexpr std::array<std::string_view, 5> verdicts{"Fits surely", "Probably fits",
                                                     "Unsure whether it fits",
                                                     "Probably does not fit", "Does not fit"};
  const std::string_view verdict = verdicts.at(static_cast<std::size_t>(fit_verdict(memory)));
  const double margin = memory.device_bytes - memory.need.bytes;
  const std::string where =
      stages > 1 ? fmt::format(", of stage {} of {},", memory.stage + 1, stages) : "";
  return fmt::format("{}: the fullest {}{} needs {} GB ({} … {}) of {} GB; {} GB or {:.0f} % {}.",
                     verdict, worker, where, in_gb(memory.need.bytes), in_gb(memory.need.low),
                     in_gb(memory.need.high), in_gb(memory.device_bytes), in_gb(std::abs(margin)),
                     100 * std::abs(margin) / memory.device_bytes,
                     margin < 0 ? "are missing" : "are free");
}

std::string parallel_title(const std::vector<ParallelRow>& rows) {
  const ParallelRow& first = rows.front();
  const std::string batch =
      fmt::format("{} of {} tokens, {}, as {} (family {})", counted(first.global_batch, "sequence"),
                  first.sequence, first.precision, first.framework, first.family);
  if (rows.size() == 1) {
    return fmt::format("{} on {} of {} by {}: {}; {}", first.network, counted(first.gpus, "GPU"),
                       first.cluster, first.plan, micro_batches_of(first), batch);
  }
  const std::string plan =
      first.label.empty() ? fmt::format(" by {}, data as GPUs allow", first.without_data) : "";
  return fmt::format("{} on {}{}; {}", first.network, first.cluster, plan, batch);
}

}  // namespace dlscale::report
