#include "report/stages/staged_rows.hpp"

#include <fmt/format.h>

#include <functional>
#include <optional>
#include <string_view>

#include "core/base/error.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/text/numbers.hpp"
#include "model/parallel/answer/fit_chance.hpp"
#include "model/sgd_iter/evidence/notes.hpp"
#include "report/parallel/parallel_rows.hpp"
#include "report/prediction/note_text.hpp"

namespace dlscale::report {
namespace {

using model::StagedIteration;
using model::StagedParts;
using model::StagedTraining;
using model::memory::MemoryEstimate;
using parallel::ParallelPlan;

/// The plan of one rank has no words.
std::string staged_plan_text(const ParallelPlan& plan) {
  const std::string text = parallel::to_text(plan);
  return text.empty() ? "data=1" : text;
}

ParallelPlan one_replica(ParallelPlan plan) {
  plan.data = 1;
  return plan;
}

/// A, B, … Z, then by number.
std::string staged_label(std::size_t plan) {
  constexpr std::size_t letters = 26;
  return plan < letters ? std::string(1, static_cast<char>('A' + plan)) : std::to_string(plan + 1);
}

std::string micro_batches_text(const StagedAnswers& answers, const StagedTraining& training) {
  const int count = training.shape.micro_batches;
  return fmt::format("{} micro-batch{} of {}", count, count == 1 ? "" : "es",
                     answers.counted_samples(training.micro_batch));
}

}  // namespace

std::string StagedAnswers::counted_samples(std::int64_t count) const {
  return counted(count, samples.substr(0, samples.size() - 1));
}

std::string StagedAnswers::worker() const {
  return workers.substr(0, workers.size() - 1);
}

std::vector<StagedRow> staged_rows(const StagedAnswers& answers) {
  EXPECT(!answers.rows.empty());
  std::vector<StagedRow> rows;
  std::size_t plan = 0;
  for (const StagedAnswer& answer : answers.rows) {
    const ParallelPlan alone = one_replica(answer.plan);
    if (!rows.empty() && one_replica(rows.back().answer->plan) != alone) ++plan;
    rows.push_back({&answers, &answer, staged_label(plan), staged_plan_text(answer.plan),
                    staged_plan_text(alone)});
  }
  if (plan > 0) return rows;
  for (StagedRow& row : rows) row.label.clear();
  return rows;
}

Fields<StagedRow> staged_question_fields() {
  using enum Meaning;
  const auto asked = [](auto member) {
    return [member](const StagedRow& row) { return row.answers->*member; };
  };
  return {{"network", key, asked(&StagedAnswers::network)},
          {"cluster", key, asked(&StagedAnswers::cluster)},
          {"plan", key, &StagedRow::plan},
          {"ranks", key, via(&StagedRow::answer, &StagedAnswer::ranks)},
          {"global_batch", key, asked(&StagedAnswers::global_batch)},
          {"dtype", key, asked(&StagedAnswers::dtype)},
          {"micro_batch", key, via(&StagedRow::training, &StagedTraining::micro_batch)},
          {"micro_batches", key,
           [](const StagedRow& row) { return row.training().shape.micro_batches; }}};
}

Fields<StagedRow> staged_answer_fields() {
  using enum Meaning;
  const auto of = [](auto member) {
    return [member](const StagedRow& row) { return row.training().*member; };
  };
  const auto unmoved = [](auto member) {
    return [member](const StagedRow& row) -> std::optional<double> {
      if (!row.knows_speedup()) return {};
      return std::invoke(member, row.training());
    };
  };
  const auto part = [](Seconds StagedParts::*which) {
    return [which](const StagedRow& row) { return row.training().parts.*which; };
  };
  const auto need = [](double MemoryEstimate::*end) {
    return [end](const StagedRow& row) { return staged_fit_question(row.training()).need.*end; };
  };
  Field<StagedRow> verdict{"fits", state,
                           [](const StagedRow& row) { return staged_fits_word(row.training()); }};
  verdict.states = {"yes", "no", "unsure", "unknown"};
  return {
      {"samples_per_s", value, of(&StagedTraining::images_per_s)},
      {"t_iter_s", value, of(&StagedIteration::total)},
      {"t_iter_low_s", value, via(&StagedRow::training, &StagedTraining::low)},
      {"t_iter_high_s", value, via(&StagedRow::training, &StagedTraining::high)},
      {"speedup", value, unmoved(&StagedTraining::speedup)},
      {"speedup_low", value, unmoved(&StagedTraining::speedup_low)},
      {"speedup_high", value, unmoved(&StagedTraining::speedup_high)},
      {"efficiency", value, unmoved(&StagedTraining::efficiency)},
      {"t_compute_s", value, part(&StagedParts::computing)},
      {"t_unequal_s", value, part(&StagedParts::unequal)},
      {"t_bubble_s", value, part(&StagedParts::bubble)},
      {"t_stage_messages_s", value, part(&StagedParts::messages)},
      {"t_strips_s", value, part(&StagedParts::strips)},
      {"t_gradients_s", value, part(&StagedParts::exchange)},
      {"t_input_s", value, part(&StagedParts::input)},
      {"memory_bytes", value, need(&MemoryEstimate::bytes)},
      {"memory_low_bytes", value, need(&MemoryEstimate::low)},
      {"memory_high_bytes", value, need(&MemoryEstimate::high)},
      {"device_memory_bytes", value, of(&StagedTraining::device_memory)},
      {"fit_chance", value,
       [](const StagedRow& row) {
         const bool is_known = row.training().device_memory > Bytes();
         return is_known ? number(chance_of(staged_fit_question(row.training()))) : Json();
       }},
      verdict,
      {"bound", remark, [](const StagedRow& row) { return std::string(row.training().bound()); }}};
}

model::parallel_time::FitQuestion staged_fit_question(const StagedTraining& training) {
  return {static_cast<int>(training.fullest()), training.need(), training.device_memory.si()};
}

std::string staged_fits_word(const StagedTraining& training) {
  if (training.device_memory <= Bytes()) return "unknown";
  return fits_word(staged_fit_question(training));
}

std::string staged_fit_sentence(const StagedRow& row) {
  const StagedTraining& training = row.training();
  if (training.device_memory <= Bytes()) {
    return "Unknown whether it fits: the cluster states no memory of its devices.";
  }
  return fit_sentence(staged_fit_question(training), training.shape.stages, row.answers->worker());
}

std::string staged_title(const std::vector<StagedRow>& rows) {
  const StagedRow& first = rows.front();
  const StagedAnswers& answers = *first.answers;
  const std::string batch =
      fmt::format("{}, {}", answers.counted_samples(answers.global_batch), answers.dtype);
  if (rows.size() == 1) {
    return fmt::format("{} on {} of {} by {}: {}; {}", answers.network,
                       counted(first.answer->ranks, answers.worker()), answers.cluster, first.plan,
                       micro_batches_text(answers, first.training()), batch);
  }
  const std::string plan = first.label.empty() ? fmt::format(" by {}, data as {} allow",
                                                             first.without_data, answers.workers)
                                               : "";
  return fmt::format("{} on {}{}; {}", answers.network, answers.cluster, plan, batch);
}

std::string staged_place(const StagedRow& row) {
  if (row.answers->rows.size() == 1) return {};
  return fmt::format("{}{} {}: ", row.label.empty() ? "" : row.label + ", ", row.answer->ranks,
                     row.answers->workers);
}

std::vector<std::string> staged_notes(const StagedAnswers& answers) {
  model::Notes found;
  std::vector<std::string> cuts;
  for (const StagedRow& row : staged_rows(answers)) {
    for (const model::Note& note : row.training().notes) {
      if (note.kind == model::NoteKind::memory_cuts_stages) {
        cuts.push_back(staged_place(row) + note_text(note));
      } else if (answers.all_notes || note.kind == model::NoteKind::more_nodes) {
        found.add(note);
      }
    }
  }
  std::vector<std::string> lines = answers.notes;
  lines.insert(lines.end(), cuts.begin(), cuts.end());
  for (const std::string& note : note_texts(found.all())) lines.push_back(note);
  return lines;
}

std::string factors_text(const model::TimeFactors& factors) {
  return fmt::format("−{}/+{} %", significant(100 * (1 - factors.low), 2),
                     significant(100 * (factors.high - 1), 2));
}

}  // namespace dlscale::report
