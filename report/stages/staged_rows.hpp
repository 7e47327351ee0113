#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "core/parallel/plan.hpp"
#include "model/parallel/answer/fit_chance.hpp"
#include "model/parallel/stages/predict_stages.hpp"
#include "report/table/field_table.hpp"

namespace dlscale::report {

/// A plan in stages on its number of ranks, answered.
struct StagedAnswer {
  parallel::ParallelPlan plan;
  int ranks = 1;
  model::StagedTraining training;
};

/// The answers of a call, with its question.
struct StagedAnswers {
  std::string network;
  std::string cluster;
  std::string dtype;
  std::string samples = "images";  ///< or "sequences"
  std::string workers = "GPUs";    ///< the ranks, in a word: "GPUs", "processors", "cores"
  std::int64_t global_batch = 1;   ///< samples
  std::vector<StagedAnswer> rows;
  std::vector<int> measured = {};       ///< ranks of measured points
  std::vector<std::string> notes = {};  ///< of the call, in sentences
  std::string more = {};                ///< options that say more
  bool all_notes = false;               ///< show those of the model, and all stages
  /// "3 images", "1 sequence".
  [[nodiscard]] std::string counted_samples(std::int64_t count) const;
  [[nodiscard]] std::string worker() const;  ///< one of `workers`: "GPU"
};

/// A row of a table of plans.
struct StagedRow {
  const StagedAnswers* answers = nullptr;
  const StagedAnswer* answer = nullptr;
  std::string label;         ///< "A", "B", … by plan; empty where there is one
  std::string plan;          ///< its text, with the number of replicas
  std::string without_data;  ///< the same without it
  [[nodiscard]] const model::StagedTraining& training() const { return answer->training; }
  /// Measured points of several devices do not say what one of them takes.
  [[nodiscard]] bool knows_speedup() const { return answers->measured.empty(); }
};

/// The rows of plans, in their order. Requires a row, which must outlive them.
std::vector<StagedRow> staged_rows(const StagedAnswers& answers);

/// The question for programs: "network" to "micro_batches".
Fields<StagedRow> staged_question_fields();
/// The answer for programs: rates, the time with its interval and parts, memory, verdict.
Fields<StagedRow> staged_answer_fields();

/// The fullest rank, with libraries, against what it has.
model::parallel_time::FitQuestion staged_fit_question(const model::StagedTraining& training);

/// fits_word(), or "unknown" where the cluster states no memory.
std::string staged_fits_word(const model::StagedTraining& training);

/// fit_sentence(), or that the cluster states no memory.
std::string staged_fit_sentence(const StagedRow& row);

/// The question in words; of several rows, it names the plan if all have the same but for replicas.
std::string staged_title(const std::vector<StagedRow>& rows);

/// "A, 16 GPUs: ", the row that a sentence is about; empty where there is one row.
std::string staged_place(const StagedRow& row);

/// The notes of all rows, each once: all of them, or only that the cluster has fewer nodes, and by
/// row that memory decides its cut.
std::vector<std::string> staged_notes(const StagedAnswers& answers);

/// "−12/+19 %" of a time at the ends of an interval.
std::string factors_text(const model::TimeFactors& factors);

}  // namespace dlscale::report
