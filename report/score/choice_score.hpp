#pragma once
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "model/published/cases/case_file.hpp"
#include "report/score/judged_case.hpp"
#include "report/table/table.hpp"

namespace dlscale::report {

/// Plans of one training that were measured side by side: the same network and length of sequences
/// on as many of the same GPUs, with the same global batch and precision.
struct PlanChoice {
  std::string set;
  std::string training;  ///< "llama-8.86g of 4096 tokens, 16 GPUs, batch 256"
  std::size_t plans = 0;
  std::string chosen;  ///< id of the one that predictions rank first
  std::string best;    ///< id of the quickest
  double loss = 0;     ///< measured time of the chosen one over that of the quickest, less 1
};

/// Choices of a set.
struct ChoiceScore {
  std::string set;
  std::size_t trainings = 0;
  std::size_t plans = 0;
  std::size_t right = 0;  ///< trainings in which the quickest plan was chosen
  double median_loss = 0;
  double mean_loss = 0;
  double greatest_loss = 0;
};

/// The choices that predictions make among measured plans beyond data parallelism, of which there
/// are two or more. Plans without a prediction are not chosen. In order of set and training.
std::vector<PlanChoice> plan_choices(const cases::CaseFile& file,
                                     std::span<const JudgedCase> judged);

/// Their scores, by set.
std::vector<ChoiceScore> choice_scores(std::span<const PlanChoice> choices);

/// The scores for people.
Table choice_table(const std::vector<ChoiceScore>& scores);

}  // namespace dlscale::report
