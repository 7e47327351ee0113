#pragma once
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/roofline/fit/choice_question.hpp"
#include "model/roofline/kernels/kernel_model.hpp"

namespace dlscale::model {

/// What is known of the questions that choices are judged by.
struct ChoiceEvidence {
  std::set<Question> complete;  ///< complete_questions()
  /// How many steps of an iteration of the networks run a kernel in a pass; nothing of one where
  /// that is not known.
  std::map<std::pair<std::string, Pass>, int> steps = {};
};

/// What a choice among measured ways loses, over several questions.
struct ChoiceLoss {
  int choices = 0;
  int best = 0;           ///< choices that were the fastest measured
  Seconds chosen, least;  ///< summed over choices, as measured; of Counting::by_steps: weighted
  double median = 0;      ///< of chosen / least - 1 over the choices
  [[nodiscard]] double loss() const { return chosen / least - 1; }
};

/// Where convolutions stand: in a network, or in a list of shapes alone.
enum class LayersOf { networks, lists };
std::string_view layers_of_name(LayersOf layers_of);

/// How often a question counts: once, or as often as ChoiceEvidence::steps says.
enum class Counting { once, by_steps };
std::string_view counting_name(Counting counting);

/// Losses over the questions of one kind.
struct ChoicePart {
  LayersOf layers_of = LayersOf::networks;
  int batch = 0;  ///< 0: of all
  Counting counting = Counting::once;
  ChoiceLoss predicted;  ///< by prediction
  /// By the first measurement, judged by the last, and by the last, judged by the first, where all
  /// ways were measured several times: what choosing costs a model that knows all but the noise.
  ChoiceLoss repeated = {};
};

/// How choose() does at shapes that were not fitted, where a processor's ways, or a GPU's, have
/// been measured by two ways or more. The fastest is that of all measured ways, with a model or
/// without.
struct ChoiceJudgement {
  /// All questions of networks; of lists where there are none of networks.
  ChoicePart all;
  /// Parts of them, and of lists.
  std::vector<ChoicePart> parts = {};
  int incomplete = 0;  ///< questions left out as not ChoiceEvidence::complete
  int unanswered = 0;  ///< questions left out as choose() names none of the ways measured
  /// Ways that choose() named ahead of all measured ones though the library does not offer them,
  /// and how often: the question counts with the first that was measured.
  std::map<std::string, int> not_offered = {};
};

/// Samples, and models that were not fitted to them.
struct Unseen {
  std::span<const KernelSample> samples;
  const KernelModels& models;
};

/// All together; no question may be in several of them.
ChoiceJudgement judge_choices(std::span<const Unseen> judging, const ChoiceEvidence& evidence);
ChoiceJudgement judge_choices(std::span<const KernelSample> judging, const KernelModels& models,
                              const ChoiceEvidence& evidence);

}  // namespace dlscale::model
