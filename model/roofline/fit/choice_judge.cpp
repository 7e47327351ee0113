#include "model/roofline/fit/choice_judge.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/error.hpp"
#include "core/base/statistics.hpp"
#include "core/network/network.hpp"
#include "core/results/usable_rows.hpp"
#include "model/fits/fit.hpp"

namespace dlscale::model {
namespace {

/// A backend and the algorithm requested from it.
using Asked = std::pair<std::string, std::string>;

/// Threads, caches, and whether the device is a GPU.
using Condition = std::tuple<int, std::string, bool>;

Condition condition_of(const Question& question) {
  return {question.threads, question.cache, question.on_device};
}

Asked asked_of(const Measurement& measurement) {
  const auto algorithm = measurement.axes.find("algorithm");
  return {measurement.axes.at("backend"),
          algorithm == measurement.axes.end() ? "chosen" : algorithm->second};
}

/// Returns nothing for rows that kernel_samples() leaves out, whatever their status.
std::optional<Question> parse_question(const Sourced& row) {
  const Measurement& measurement = *row.measurement;
  if (measurement.benchmark != "conv" || !has_normal_values(measurement)) return std::nullopt;
  const auto pass = convolution_pass(row.axis("pass"));
  if (!pass || !row.axis("kernel").starts_with("convolution ")) return std::nullopt;
  const bool comparable = row.axis("dtype") == dtype_name(DType::f32) &&
                          !measurement.axes.contains("layout") && row.count("ranks_on_node") == 1;
  if (!comparable) return std::nullopt;
  return Question{row.axis("kernel"),   row.count("batch"), *pass,
                  row.count("threads"), row.axis("cache"),  on_device(row.axis("backend"))};
}

/// The samples of one question, one a way.
using Ways = std::vector<const KernelSample*>;

/// The measured times of one decision.
struct Decision {
  Seconds chosen, least;
};

/// A question with the decisions made for it.
struct Answer {
  LayersOf layers_of;
  int batch;
  int steps;  ///< 0: not known
  Decision predicted;
  std::vector<Decision> repeated;
};

/// Whether "NETWORK LAYER" is a layer of a network, not of a list.
bool is_in_network(const std::string& where) {
  const std::size_t space = where.find(' ');
  if (space == std::string::npos) return true;
  const std::string network = where.substr(0, space);
  return set_of(network, where.substr(space + 1)) == network;
}

LayersOf where_from(const Ways& ways) {
  const bool in_network = std::ranges::any_of(ways, [](const KernelSample* sample) {
    return std::ranges::any_of(sample->layers, is_in_network);
  });
  return in_network ? LayersOf::networks : LayersOf::lists;
}

/// The first way that choose() names and that was measured; nullptr if there is none.
const KernelSample* chosen_of(const Question& question, const Ways& ways,
                              const KernelModels& models, std::map<std::string, int>& not_offered) {
  for (const Candidate& candidate : choose(models, question.kernel, question.batch, question.pass,
                                           question.threads, question.cache)) {
    if (candidate.way.on_device() != question.on_device) continue;
    const auto measured = std::ranges::find(
        ways, candidate.way, [](const KernelSample* sample) { return sample->what.way; });
    if (measured != ways.end()) return *measured;
    ++not_offered[candidate.way.algorithm()];
  }
  return nullptr;
}

/// The time by `truth` of the way that is fastest by `belief`.
template <class Belief, class Truth>
Decision decide(const Ways& ways, const Belief& belief, const Truth& truth) {
  const KernelSample* chosen = *std::ranges::min_element(ways, {}, belief);
  return {truth(chosen), truth(*std::ranges::min_element(ways, {}, truth))};
}

std::vector<Decision> repeated_decisions(const Ways& ways) {
  if (!std::ranges::all_of(ways, &KernelSample::repeated)) return {};
  const auto first = [](const KernelSample* sample) { return sample->repeats.front(); };
  const auto last = [](const KernelSample* sample) { return sample->repeats.back(); };
  return {decide(ways, first, last), decide(ways, last, first)};
}

Seconds measured_time(const KernelSample* sample) {
  return sample->time;
}

std::map<Question, Ways> questions_of(std::span<const KernelSample> samples) {
  std::map<Question, Ways> questions;
  for (const KernelSample& sample : samples) {
    questions[question_of(sample.what)].push_back(&sample);
  }
  return questions;
}

std::vector<Answer> answers_of(const std::map<Question, Ways>& questions,
                               const KernelModels& models, const ChoiceEvidence& evidence,
                               ChoiceJudgement& judgement) {
  std::vector<Answer> answers;
  for (const auto& [question, ways] : questions) {
    if (ways.size() < 2) continue;
    if (!evidence.complete.contains(question)) {
      ++judgement.incomplete;
      continue;
    }
    const KernelSample* chosen = chosen_of(question, ways, models, judgement.not_offered);
    if (chosen == nullptr) {
      ++judgement.unanswered;
      continue;
    }
    const Seconds least = (*std::ranges::min_element(ways, {}, measured_time))->time;
    const auto steps = evidence.steps.find({question.kernel, question.pass});
    answers.push_back({where_from(ways),
                       question.batch,
                       steps == evidence.steps.end() ? 0 : steps->second,
                       {chosen->time, least},
                       repeated_decisions(ways)});
  }
  return answers;
}

class Tally {
 public:
  void add(const Decision& decision, double weight) {
    ++loss_.choices;
    loss_.best += decision.chosen == decision.least ? 1 : 0;
    loss_.chosen += weight * decision.chosen;
    loss_.least += weight * decision.least;
    losses_.push_back(decision.chosen / decision.least - 1);
  }
  [[nodiscard]] ChoiceLoss loss() const {
    ChoiceLoss result = loss_;
    if (!losses_.empty()) result.median = median(losses_);
    return result;
  }

 private:
  ChoiceLoss loss_;
  std::vector<double> losses_;
};

ChoicePart part_of(const std::vector<Answer>& answers, LayersOf layers_of, int batch,
                   Counting counting) {
  Tally predicted;
  Tally repeated;
  for (const Answer& answer : answers) {
    if (answer.layers_of != layers_of || (batch != 0 && answer.batch != batch)) continue;
    if (counting == Counting::by_steps && answer.steps == 0) continue;
    const double weight = counting == Counting::by_steps ? answer.steps : 1;
    predicted.add(answer.predicted, weight);
    for (const Decision& decision : answer.repeated) repeated.add(decision, weight);
  }
  return {layers_of, batch, counting, predicted.loss(), repeated.loss()};
}

/// The batches of the answers; empty unless there are several.
std::set<int> batches_of(const std::vector<Answer>& answers, LayersOf layers_of) {
  std::set<int> batches;
  for (const Answer& answer : answers) {
    if (answer.layers_of == layers_of) batches.insert(answer.batch);
  }
  return batches.size() > 1 ? batches : std::set<int>();
}

}  // namespace

Question question_of(const KernelCase& what) {
  const Way& way = what.way;
  return {what.kernel, what.batch, way.pass, way.threads, way.cache, way.on_device()};
}

std::set<Question> complete_questions(std::span<const ResultFile> results) {
  std::map<Condition, std::set<Asked>> measured;
  std::map<Question, std::set<Asked>> answered;
  for (const ResultFile& file : results) {
    for (const Measurement& measurement : file.measurements) {
      const auto question = parse_question({&measurement, file.path.string()});
      if (!question) continue;
      const bool timed = is_timed(measurement);
      const Asked asked = asked_of(measurement);
      const bool known = convolution::method_of(measurement.implementation).has_value();
      if (timed && known) measured[condition_of(*question)].insert(asked);
      if (timed || measurement.status == Status::unsupported) answered[*question].insert(asked);
    }
  }
  std::set<Question> complete;
  for (const auto& [question, asked] : answered) {
    const auto all = measured.find(condition_of(question));
    if (all != measured.end() && std::ranges::includes(asked, all->second)) {
      complete.insert(question);
    }
  }
  return complete;
}

std::string_view layers_of_name(LayersOf layers_of) {
  switch (layers_of) {
    case LayersOf::networks:
      return "networks";
    case LayersOf::lists:
      return "lists";
  }
  fail_expectation("layers of one of LayersOf");
}

std::string_view counting_name(Counting counting) {
  switch (counting) {
    case Counting::once:
      return "once";
    case Counting::by_steps:
      return "by_steps";
  }
  fail_expectation("one of Counting");
}

ChoiceJudgement judge_choices(std::span<const Unseen> judging, const ChoiceEvidence& evidence) {
  ChoiceJudgement judgement;
  std::vector<Answer> answers;
  for (const Unseen& unseen : judging) {
    const auto more = answers_of(questions_of(unseen.samples), unseen.models, evidence, judgement);
    answers.insert(answers.end(), more.begin(), more.end());
  }
  std::vector<ChoicePart> parts;
  const auto add = [&](LayersOf layers_of, int batch, Counting counting) {
    ChoicePart part = part_of(answers, layers_of, batch, counting);
    if (part.predicted.choices > 0) parts.push_back(std::move(part));
  };
  for (const LayersOf layers_of : {LayersOf::networks, LayersOf::lists}) {
    add(layers_of, 0, Counting::once);
    add(layers_of, 0, Counting::by_steps);
    for (const int batch : batches_of(answers, layers_of)) add(layers_of, batch, Counting::once);
  }
  if (parts.empty()) return judgement;
  judgement.all = parts.front();
  judgement.parts.assign(parts.begin() + 1, parts.end());
  return judgement;
}

ChoiceJudgement judge_choices(std::span<const KernelSample> judging, const KernelModels& models,
                              const ChoiceEvidence& evidence) {
  const Unseen unseen{judging, models};
  return judge_choices(std::span(&unseen, 1), evidence);
}

}  // namespace dlscale::model
