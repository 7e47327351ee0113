#include "app/predict/parallel/predict_parallel.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "app/cli/option_values.hpp"
#include "app/cli/rank0_error.hpp"
#include "app/options/hardware_options.hpp"
#include "app/predict/parallel/asked_plan.hpp"
#include "app/predict/parallel/explain_parallel.hpp"
#include "app/predict/parallel/plan_notes.hpp"
#include "app/predict/parallel/predict_branches.hpp"
#include "app/predict/parallel/trace_parallel.hpp"
#include "core/parallel/plan_text.hpp"
#include "core/run/run.hpp"
#include "core/text/numbers.hpp"
#include "model/goodput/parallel_plan.hpp"
#include "model/goodput/training_cost.hpp"
#include "model/machine/machine.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/answer/remedies.hpp"
#include "model/parallel/answer/setting_at_points.hpp"
#include "model/parallel/uncertain/measured_points.hpp"
#include "report/goodput/training_cost_table.hpp"
#include "report/parallel/parallel_memory.hpp"
#include "report/parallel/parallel_rows.hpp"
#include "report/parallel/parallel_table.hpp"

namespace dlscale::app {
namespace {

using model::parallel_time::AnsweredPlan;
using model::parallel_time::MeasuredPlan;
using model::parallel_time::MeasuredPoint;
using model::parallel_time::ParallelHardware;
using model::parallel_time::ParallelQuestion;
using model::parallel_time::ParallelTimeFile;
using model::parallel_time::Precision;
using model::parallel_time::Setting;
using model::parallel_time::SettingAtPoints;
using parallel::ParallelPlan;

/// Answers plans one after the other on one kind of hardware.
class Answers {
 public:
  Answers(const ParallelTimeFile& file, const ParallelQuestion& question, ParallelHardware hardware)
      : file_(&file), question_(&question), hardware_(std::move(hardware)) {}

  /// Takes measured points of the plan, whose replicas follow their ranks, for all answers.
  void follow(AskedPlan plan, const std::vector<MeasuredIteration>& points) {
    measured_.plan = plan.plan;
    layers_ = model::parallel_time::stage_layers_of(plan.plan);
    plan.states_data = false;
    std::vector<MeasuredPoint> read;
    for (const MeasuredIteration& point : points) {
      const AnsweredPlan row = answer(plan.on(point.ranks), point.ranks);
      MeasuredPoint one{row.answer.sizes, row.hardware.links, point.time.si(), row.asked,
                        row.answer.waits.likely};
      one.plan.stage_layers = layers_;
      one.surprise = model::parallel_time::surprise_of(one.seconds, row.answer.seconds(),
                                                       row.answer.low(), row.answer.high());
      read.push_back(one);
      doubt(row, one);
    }
    measured_.points = std::move(read);
  }

  /// A sentence for each measured point beyond the interval of its prediction.
  [[nodiscard]] const std::vector<std::string>& doubts() const { return doubts_; }

  [[nodiscard]] AnsweredPlan answer(const ParallelPlan& plan, int ranks) const {
    const ParallelHardware hardware = on(ranks);
    const ParallelPlan asked = with_micro_batch(plan, ranks);
    const Setting setting = setting_of(*file_, *question_, hardware);
    if (measured_.points.empty()) return answered(hardware, setting, asked);
    parallel::check(asked, ranks, facts_of(*question_));
    const bool is_measured = is_measured_plan(asked, ranks, *setting.family);
    const SettingAtPoints at =
        setting_at_points(*file_, setting, measured_.points,
                          sizes_of(*question_, *setting.family, asked), is_measured);
    AnsweredPlan row = answered(hardware, at.setting, asked);
    row.answer.range = at.change.range(row.answer.range);
    if (is_measured) row.answer.waits = row.answer.waits.decided();
    return row;
  }

 private:
  /// Whether a plan with its micro-batch is the measured one, whose micro-batch may follow the
  /// GPUs.
  [[nodiscard]] bool is_measured_plan(const ParallelPlan& asked, int ranks,
                                      const model::parallel_time::Family& family) const {
    MeasuredPlan measured = measured_;
    measured.plan.data = asked.data;
    measured.plan = with_micro_batch(measured.plan, ranks);
    return measured.is(*question_, family, asked);
  }

  [[nodiscard]] AnsweredPlan answered(const ParallelHardware& hardware, const Setting& setting,
                                      const ParallelPlan& asked) const {
    return {asked, hardware, setting, predict_plan(*file_, *question_, hardware, setting, asked)};
  }

  /// Compares a point with its prediction before constants are fitted. Throws ConfigError for one
  /// that no device of this kind can reach.
  void doubt(const AnsweredPlan& row, const MeasuredPoint& point) {
    const double seconds = point.seconds;
    const int ranks = static_cast<int>(row.hardware.links.gpus);
    const double utilisation =
        flop_utilisation(*question_, row.setting, row.answer) * row.answer.seconds() / seconds;
    if (utilisation > 1) {
      throw ConfigError(
          fmt::format("--measured: {:.3g} s at {} are {:.3g} times the peak of their data sheet. "
                      "Check its unit, batch, plan and precision.",
                      seconds, counted(ranks, "GPU"), utilisation));
    }
    MeasuredOption::expect_likely(ranks, Seconds(seconds), Seconds(row.answer.seconds()));
    if (point.surprise <= 1) return;
    doubts_.push_back(
        fmt::format("Your point at {}, {:.3g} s, lies outside of the 90 % interval of its "
                    "prediction, {:.3g} to {:.3g} s, and is followed all the same: check its "
                    "batch, plan and framework.",
                    counted(ranks, "GPU"), seconds, row.answer.low(), row.answer.high()));
  }

  /// The plan with one sequence at a time, if it states no micro-batch, and has stages, faults or
  /// no room for all of them at once. Plans that run with all at once alone keep them. Throws
  /// ConfigError as predict_plan() does.
  [[nodiscard]] ParallelPlan with_micro_batch(const ParallelPlan& plan, int ranks) const {
    const parallel::NetworkFacts facts = facts_of(*question_);
    const bool is_stated = plan.micro_batch || plan.micro_batches;
    if (is_stated || parallel::batches_of(plan, facts).micro_batch.value_or(1) <= 1) return plan;
    ParallelPlan single = plan;
    single.micro_batch = 1;
    const bool is_single_faulty = !parallel::faults(single, ranks, facts).empty();
    if (is_single_faulty && parallel::faults(plan, ranks, facts).empty()) return plan;
    if (is_single_faulty || plan.stages > 1) return single;
    const ParallelHardware hardware = on(ranks);
    const Setting setting = setting_of(*file_, *question_, hardware);
    const bool fits = predict_plan(*file_, *question_, hardware, setting, plan).verdict.fits;
    return fits ? plan : single;
  }

  [[nodiscard]] ParallelHardware on(int ranks) const {
    ParallelHardware hardware = hardware_;
    hardware.links.gpus = ranks;
    return hardware;
  }

  const ParallelTimeFile* file_;
  const ParallelQuestion* question_;
  ParallelHardware hardware_;
  std::vector<int> layers_ = {};
  MeasuredPlan measured_ = {};
  std::vector<std::string> doubts_ = {};
};

/// Adds the rows of all plans, and returns whether all can run. One that cannot is left out with a
/// note, unless it is the only one.
bool add_rows(const Answers& answers, const std::vector<AskedPlan>& plans,
              const std::vector<std::string>& ranks, ParallelCall& call) {
  std::vector<std::string> left_out;
  bool is_filled = false;
  for (const AskedPlan& plan : plans) {
    const std::vector<int> counts = ranks_of(plan, ranks);
    for (const int count : counts) {
      try {
        call.rows.push_back(answers.answer(plan.on(count), count));
        is_filled |= call.rows.back().asked.micro_batch != plan.plan.micro_batch;
      } catch (const ConfigError& error) {
        if (plans.size() == 1 && counts.size() == 1) throw;
        left_out.push_back(fmt::format("{} on {}: {}", parallel::to_text(plan.plan),
                                       counted(count, "rank"), sentence_of(error)));
      }
    }
  }
  if (call.rows.empty()) {
    throw ConfigError(fmt::format("No plan can run. The first: {}", left_out.front()));
  }
  constexpr std::size_t most_shown = 2;
  for (std::size_t i = 0; i < std::min(most_shown, left_out.size()); ++i) {
    call.notes.push_back("left out: " + left_out[i]);
  }
  if (left_out.size() > most_shown) {
    call.notes.push_back(
        fmt::format("left out, too: {}",
                    counted(static_cast<long long>(left_out.size() - most_shown), "other row")));
  }
  if (is_filled) call.notes.emplace_back("Taken, since not said: micro_batch=1, as frameworks do.");
  return left_out.empty();
}

report::ParallelWords parallel_words(const ParallelCall& call) {
  report::ParallelWords words;
  words.notes = call.notes;
  const model::parallel_time::Family& family = *call.rows.front().setting.family;
  words.rests_on = fmt::format("data sheets and {} published trainings{}", call.file->trainings,
                               family.fitted ? "" : ", none by the family " + family.name);
  if (!call.measured.empty()) {
    words.rests_on +=
        fmt::format(", moved by your point{} at {} GPU{}", call.measured.size() == 1 ? "" : "s",
                    fmt::join(call.measured, " and "), call.measured.back() == 1 ? "" : "s");
  }
  words.more = options_that_say_more(
      call.measured.empty() ? fmt::format("\"{}=SECONDS s\"", call.rows.front().answer.sizes.gpus())
                            : "");
  return words;
}

report::Remedies remedies_of(const ParallelCall& call) {
  report::Remedies remedies;
  const model::parallel_time::RunsPlan runs = runs_of(call);
  for (const AnsweredPlan& row : call.rows) {
    const bool fits_surely = row.answer.verdict.fits && row.answer.verdict.is_sure;
    remedies.push_back(fits_surely
                           ? std::vector<model::parallel_time::Remedy>()
                           : model::parallel_time::remedies(*call.file, call.question, row.hardware,
                                                            row.setting, row.asked, runs));
  }
  return remedies;
}

/// The question; what the command line leaves open is usual, and becomes a note.
ParallelQuestion question_of(const ParallelInputs& inputs, const Network& network, int gpus,
                             std::vector<std::string>& notes) {
  ParallelQuestion question;
  question.shape = shape_of(*inputs.training, network);
  question.global_batch = inputs.global_batch.value_or(gpus);
  question.precision = inputs.is_dtype_stated ? precision_of(*inputs.training) : Precision::half;
  question.framework = inputs.framework.empty() ? usual_framework : inputs.framework;
  std::vector<std::string> taken;
  if (!inputs.global_batch) taken.push_back(fmt::format("--global-batch {}", gpus));
  if (inputs.framework.empty()) taken.push_back(fmt::format("--framework {}", usual_framework));
  if (!inputs.is_dtype_stated) taken.emplace_back("--dtype bf16");
  if (!taken.empty()) {
    notes.push_back(fmt::format("Taken, since not said: {}.", fmt::join(taken, ", ")));
  }
  return question;
}

/// The cost of a whole training by each plan.
std::vector<model::goodput::TrainingCost> costs_of(const ParallelCall& call, const Cluster& cluster,
                                                   const ParallelInputs& inputs) {
  std::vector<model::goodput::TrainingCost> costs;
  const std::vector<std::string> labels = report::plan_labels(call);
  for (std::size_t i = 0; i < call.rows.size(); ++i) {
    const AnsweredPlan& row = call.rows[i];
    model::goodput::CostQuestion question = model::goodput::parallel_plan_question(
        cluster, call.question, row.hardware, row.answer, parse_tokens(inputs.tokens));
    question.label = labels[i];
    question.fits = row.answer.verdict.fits;
    question.title =
        fmt::format("{} on {} by {}", call.network, call.cluster, parallel::to_text(row.asked));
    question.notes = call.notes;
    if (!question.fits) {
      question.notes.push_back(fmt::format("{} may not fit the devices: --fits has the verdict.",
                                           labels[i].empty() ? "The plan" : "Plan " + labels[i]));
    }
    inputs.cost->apply(question);
    costs.push_back(model::goodput::training_cost(question));
  }
  return costs;
}

}  // namespace

std::string dtype_of(const TrainingOptions& training, bool is_stated) {
  if (!is_stated) return "bf16";
  return training.few_bits.empty() ? std::string(dtype_name(training.run.dtype))
                                   : training.few_bits;
}

model::memory::TransformerShape shape_of(const TrainingOptions& training, const Network& network) {
  model::memory::TransformerShape shape = model::memory::transformer_shape(network);
  if (training.sequence == 0) return shape;
  if (shape.positions > 0) return model::memory::transformer_shape(training.find_network());
  shape.sequence = training.sequence;
  return shape;
}

Precision precision_of(const TrainingOptions& training) {
  if (training.few_bits == "fp8") return Precision::eight_bits;
  if (training.few_bits == "fp4") return Precision::four_bits;
  switch (training.run.dtype) {
    case DType::f32:
      return Precision::f32;
    case DType::tf32:
      return Precision::tf32;
    case DType::bf16:
    case DType::f16:
      return Precision::half;
  }
  return Precision::half;  // every case is above
}

void PredictParallel::declare(CLI::App& verb) {
  CLI::Option* plans =
      verb.add_option("--parallel", plans_,
                      "Plan of a transformer, such as tensor=8,stages=4,zero=1; or several")
          ->type_name("PLAN")
          ->needs(verb.get_option("--network"))
          ->needs(verb.get_option("--cluster"));
  verb.add_flag("--fits", fits_, "Say whether the plans of --parallel fit (exit code 2: no)")
      ->needs(plans)
      ->excludes(verb.get_option("--measured"));  // as --memory: a time says nothing of memory
  cores_ = verb.get_option("--cores-per-rank");
  dtype_ = verb.get_option("--dtype");
  exclude_others(verb, *plans,
                 {"--network",
                  "--sequence",
                  "--cluster",
                  "--ranks",
                  "--device",
                  "--global-batch",
                  "--framework",
                  "--dtype",
                  "--memory",
                  "--fits",
                  "--measured",
                  "--notes",
                  "--inter-node-bandwidth",
                  "--explain",
                  "--trace",
                  "--tokens",
                  "--cost-per-gpu-hour",
                  "--mtbf",
                  "--checkpoint-every",
                  "--spares",
                  "--power",
                  "--cores-per-rank",
                  "--format",
                  "--color",
                  "--quiet",
                  "--output"});
}

bool PredictParallel::states_cores() const {
  return cores_->count() > 0;
}

bool PredictParallel::states_dtype() const {
  return dtype_->count() > 0;
}

bool PredictParallel::has_branches() const {
  return std::ranges::any_of(
      plans_, [](const std::string& text) { return asked_plan(text).plan.branches > 1; });
}

ExitCode PredictParallel::predict(const ParallelInputs& inputs,
                                  const DocumentOutput& output) const {
  const TrainingOptions& training = *inputs.training;
  if (!inputs.tokens.empty() && (inputs.notes || fits_ || !inputs.trace.empty())) {
    throw ConfigError(
        "--tokens asks what a whole training costs; --fits, --notes and --trace ask about an "
        "iteration. Leave one of them out.");
  }
  std::vector<AskedPlan> plans;
  std::ranges::transform(plans_, std::back_inserter(plans), asked_plan);
  if (has_branches()) {
    const BranchesAnswer answer = predict_branches(inputs, plans, fits_);
    output.write(answer.document);
    return fits_ && !answer.fits ? ExitCode::bad_input : ExitCode::ok;
  }
  TrainingOptions usual_length = training;
  usual_length.sequence = 0;
  const Network network = usual_length.find_network();
  Cluster cluster = training.find_machine().cluster;
  ParallelCall call;
  if (!inputs.device.empty()) cluster = with_device(cluster, inputs.device, call.notes);
  call.network = network.name();
  call.cluster = cluster.name;
  call.dtype = dtype_of(training, inputs.is_dtype_stated);
  call.question = question_of(inputs, network, most_gpus(plans, inputs.ranks), call.notes);
  call.file = &model::parallel_time::parallel_times();
  Answers answers(*call.file, call.question, model::parallel_time::parallel_hardware(cluster, 1));
  if (inputs.measured->is_given()) {
    const auto points =
        inputs.measured->iterations("sequences", static_cast<double>(call.question.global_batch),
                                    static_cast<double>(call.question.shape.sequence));
    answers.follow(plans.front(), points);
    for (const MeasuredIteration& point : points) call.measured.push_back(point.ranks);
    for (const std::string& doubt : answers.doubts()) call.notes.push_back(doubt);
  }
  const bool all_run = add_rows(answers, plans, inputs.ranks, call);
  note_limits(call);
  if (inputs.memory || fits_) note_few_bits(call);
  if (!inputs.memory && !fits_) note_more_nodes(cluster, call);
  if (!inputs.tokens.empty()) {
    output.write(report::training_cost_document(costs_of(call, cluster, inputs)));
    return ExitCode::ok;
  }
  if (inputs.notes) note_details(call);
  if (!inputs.trace.empty()) {
    trace_parallel(call, inputs.trace);
    call.notes.push_back(
        fmt::format("The time line is in {}, for https://ui.perfetto.dev.", inputs.trace));
  }
  if (inputs.explain) {
    output.write(explain_parallel(call, cluster, answers.doubts()));
  } else if (inputs.memory) {
    output.write(report::parallel_memory_document(call, remedies_of(call), inputs.notes));
  } else if (fits_) {
    output.write(report::parallel_fit_document(call, remedies_of(call)));
  } else {
    output.write(report::parallel_document(call, parallel_words(call)));
  }
  const bool all_fit = all_run && std::ranges::all_of(call.rows, [](const AnsweredPlan& row) {
                         return row.answer.verdict.fits;
                       });
  return fits_ && !all_fit ? ExitCode::bad_input : ExitCode::ok;
}

}  // namespace dlscale::app
