#pragma once
#include <compare>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/roofline/kernels/kernel_model.hpp"
#include "model/roofline/kernels/kernel_sample.hpp"

namespace dlscale::model {

/// The question that a choice of an algorithm answers: a convolution under one condition, on a
/// processor or on a GPU. Algorithms of a processor and of a GPU do not compete.
struct Question {
  std::string kernel;  ///< kernel_key()
  int batch = 1;
  Pass pass = Pass::forward;
  int threads = 1;
  std::string cache = "cold";
  bool on_device = false;
  auto operator<=>(const Question&) const = default;
};
Question question_of(const KernelCase& what);

/// Questions that results of bench conv answer completely: f32, a rank alone, the layout of
/// training. A question is complete if it covers every algorithm measured anywhere under its
/// condition: number of threads, caches, and kind of device. Each of them has a time, or a row that
/// says that the library does not offer it. An algorithm is identified by its backend and by the
/// algorithm that was requested; "chosen" is one of these. For an incomplete question the fastest
/// measured way may not be the fastest that exists. Throws ConfigError that names file and key of
/// what cannot be read.
std::set<Question> complete_questions(std::span<const ResultFile> results);

/// Facts about the questions that choices are judged by.
struct ChoiceEvidence {
  std::set<Question> complete;  ///< complete_questions()
  /// Number of steps in an iteration of the networks that run a kernel in a pass. A kernel has no
  /// entry where it is not known.
  std::map<std::pair<std::string, Pass>, int> steps = {};
};

/// The loss from choosing among measured ways, over several questions.
struct ChoiceLoss {
  int choices = 0;
  int best = 0;           ///< choices that were the fastest measured
  Seconds chosen, least;  ///< summed over choices, as measured; weighted for Counting::by_steps
  double median = 0;      ///< median of chosen / least - 1 over the choices
  [[nodiscard]] double loss() const { return chosen / least - 1; }
};

/// Where a convolution comes from: a network, or a list of shapes.
enum class LayersOf { networks, lists };
std::string_view layers_of_name(LayersOf layers_of);

/// The weight of a question: 1, or the number in ChoiceEvidence::steps.
enum class Counting { once, by_steps };
std::string_view counting_name(Counting counting);

/// Losses over the questions of one kind.
struct ChoicePart {
  LayersOf layers_of = LayersOf::networks;
  int batch = 0;  ///< 0: all batches
  Counting counting = Counting::once;
  ChoiceLoss predicted;  ///< choice by prediction
  /// Choice by the first measurement, judged by the last, and the reverse, where all ways were
  /// measured several times. It is the loss of a model that knows everything except the noise.
  ChoiceLoss repeated = {};
};

/// Judges choose() at shapes that were not fitted, for which two or more ways of a processor, or of
/// a GPU, were measured. The fastest way is sought among all measured ways, with or without a
/// model.
struct ChoiceJudgement {
  /// All questions of networks, or of lists where no network has any.
  ChoicePart all;
  /// Parts of these questions, and of those of lists.
  std::vector<ChoicePart> parts = {};
  int incomplete = 0;  ///< questions left out because they are not in ChoiceEvidence::complete
  int unanswered = 0;  ///< questions left out because choose() names none of the measured ways
  /// Ways that choose() ranks above all measured ones although the library does not offer them,
  /// with their counts. The question counts with the first way that was measured.
  std::map<std::string, int> not_offered = {};
};

/// Samples, and models that were not fitted to them.
struct Unseen {
  std::span<const KernelSample> samples;
  const KernelModels& models;
};

/// Judges all sets together; a question may be in only one of them.
ChoiceJudgement judge_choices(std::span<const Unseen> judging, const ChoiceEvidence& evidence);
ChoiceJudgement judge_choices(std::span<const KernelSample> judging, const KernelModels& models,
                              const ChoiceEvidence& evidence);

}  // namespace dlscale::model
