#include "app/predict/plan_parallel.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "app/cli/number_sweep.hpp"
#include "app/options/hardware_options.hpp"
#include "app/options/training_cost_options.hpp"
#include "app/predict/parallel/plan_notes.hpp"
#include "app/predict/parallel/predict_parallel.hpp"
#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/search/search.hpp"
#include "model/plan/training_plan.hpp"
#include "report/parallel_plan/parallel_plan_table.hpp"

namespace dlscale::app {
namespace {

using model::parallel_search::AskedFramework;
using model::parallel_search::FrameworkWays;
using model::parallel_search::SearchQuestion;
using model::parallel_search::WholeTraining;
using model::parallel_time::Precision;

constexpr std::array<std::string_view, 5> only_here{"--parallel", "--fits", "--launch-options",
                                                    "--device", "--tokens"};
constexpr std::array<std::string_view, 19> shared{"--network",
                                                  "--sequence",
                                                  "--cluster",
                                                  "--ranks",
                                                  "--max-ranks",
                                                  "--global-batch",
                                                  "--framework",
                                                  "--dtype",
                                                  "--objective",
                                                  "--cost-per-gpu-hour",
                                                  "--time-limit",
                                                  "--budget",
                                                  "--inter-node-bandwidth",
                                                  "--inter-node-latency",
                                                  "--format",
                                                  "--output",
                                                  "--color",
                                                  "--quiet",
                                                  "--help"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& all, std::string_view name) {
  return std::ranges::find(all, name) != all.end();
}

constexpr const char* usual_ways = "megatron";  ///< whose plans are searched unless one is named
constexpr int most_gpus = 1'000'000;

/// Refuses numbers beyond any cluster, over which a search would take minutes.
void expect_possible(int gpus) {
  if (gpus <= most_gpus) return;
  throw ConfigError(fmt::format(
      "{} GPUs are more than plan searches over. Write a number up to {}.", gpus, most_gpus));
}

/// Numbers of GPUs up to the greatest: doubled each time, and itself.
std::vector<int> doubled_up_to(int most) {
  std::vector<int> counts;
  for (std::int64_t count = 1; count < most; count *= 2) counts.push_back(static_cast<int>(count));
  counts.push_back(most);
  return counts;
}

std::vector<int> gpus_of(const PlanOptions& plan, int workers) {
  if (!plan.ranks.empty() && !plan.max_ranks.empty()) {
    throw ConfigError("Give the ranks once: --ranks LIST, or --max-ranks N for all up to N.");
  }
  if (!plan.max_ranks.empty()) {
    const int most = swept_counts("--max-ranks", std::span(&plan.max_ranks, 1)).back();
    expect_possible(most);
    return doubled_up_to(most);
  }
  if (plan.ranks.empty()) return {workers};
  std::vector<int> counts = swept_counts("--ranks", plan.ranks);
  std::ranges::sort(counts);
  expect_possible(counts.back());
  return counts;
}

const FrameworkWays& launcher(std::string_view name) {
  std::vector<std::string> names;
  for (const FrameworkWays& ways : model::parallel_search::framework_ways()) {
    if (ways.name == name) return ways;
    names.emplace_back(ways.name);
  }
  throw ConfigError(fmt::format("--launch-options {} is not a framework whose words are known. {}",
                                escape_for_terminal(name), suggestion(name, names)));
}

/// The frameworks that plans are searched for: where none is named, that of the launch options,
/// else Megatron-LM.
std::vector<AskedFramework> searched_frameworks(const std::string& framework,
                                                const std::string& launch) {
  if (framework == "any") return model::parallel_search::all_frameworks();
  if (framework.find(',') != std::string::npos) {
    throw ConfigError(fmt::format(
        "--framework is {}, and plans are searched of one framework, or of all. Name one, or any.",
        escape_for_terminal(framework)));
  }
  if (!framework.empty()) return {model::parallel_search::asked_framework(framework)};
  const std::string name = launch.empty() ? usual_ways : std::string(launcher(launch).name);
  return {model::parallel_search::asked_framework(name)};
}

std::vector<std::string> framework_notes(const SearchQuestion& question, bool is_typed) {
  const AskedFramework& first = question.frameworks.front();
  if (question.frameworks.size() > 1) {
    return {
        "each plan is timed as today's software of its framework runs it, and ordered as if "
        "trainings had decided each; --framework with one name says what that does not run"};
  }
  std::vector<std::string> notes;
  if (!is_typed) {
    notes.push_back(fmt::format("as {} runs it; --framework names another, or any", first.title()));
  }
  notes.push_back(first.ways != nullptr
                      ? std::string(first.ways->left_out)
                      : fmt::format("No family says which plans {} runs: all are searched.",
                                    escape_for_terminal(first.name)));
  return notes;
}

std::string batch_note(const model::parallel_time::ParallelQuestion& training) {
  return fmt::format(
      "global batch: {} sequences of {} tokens, one for each GPU of the most; --global-batch says "
      "another",
      training.global_batch, training.shape.sequence);
}

/// The notes that predict has on the plans shown: limits of the model, and nodes beyond the
/// cluster's.
std::vector<std::string> limit_notes(const model::parallel_search::PlanSearch& search,
                                     const Cluster& cluster) {
  ParallelCall call;
  call.file = &model::parallel_time::parallel_times();
  call.question = search.question.training;
  call.question.framework = search.framework_of(search.best.front()).name;
  call.rows = {search.best.front().answered};
  note_limits(call);
  for (const model::parallel_search::FoundPlan& other : search.gpu_front) {
    call.rows.push_back(other.answered);
  }
  note_more_nodes(cluster, call);
  return call.notes;
}

std::string price_note(const model::parallel_search::PlanSearch& search, double price) {
  constexpr double hour = 3600;
  constexpr double tera = 1e12;
  const auto& best = search.best.front();
  const double tokens = static_cast<double>(search.question.training.global_batch) *
                        static_cast<double>(search.question.training.shape.sequence);
  return fmt::format("at {:g} for a GPU hour, 10^12 tokens by the best plan cost {:.4g}", price,
                     best.answered.answer.seconds() * best.gpus / hour * price / tokens * tera);
}

/// The whole training that --tokens asks for. Throws ConfigError for limits of none.
std::optional<WholeTraining> whole_of(const std::string& tokens, const PlanOptions& plan,
                                      const model::parallel_time::ParallelQuestion& training) {
  const model::PlanLimits limits = plan.limits();
  if (tokens.empty()) {
    if (!limits.time && !limits.budget) return {};
    throw ConfigError(fmt::format(
        "{} is about a whole training, which needs a length. Give --tokens, such as 15T.",
        limits.time ? "--time-limit" : "--budget"));
  }
  WholeTraining whole;
  whole.tokens = parse_tokens(tokens);
  const double iteration =
      static_cast<double>(training.global_batch) * static_cast<double>(training.shape.sequence);
  if (whole.tokens < iteration) {
    throw ConfigError(
        fmt::format("--tokens {} are fewer than the {:.4g} of an iteration. Give more tokens, or a "
                    "smaller --global-batch.",
                    tokens, iteration));
  }
  if (plan.price > 0) whole.price = plan.price;
  whole.longest = limits.time;
  whole.dearest = limits.budget;
  return whole;
}

/// Shows how far a search is, once it takes over a second.
class SearchProgress {
 public:
  explicit SearchProgress(ProgressLine::Kind kind) : line_(kind) {}
  void show(double share) {
    constexpr double silent_s = 1;
    const double passed = seconds();
    if (passed < silent_s) return;
    line_.show(fmt::format("plan: {:.0f} % of the plans, {}; about {} left", 100 * share,
                           duration_text(passed),
                           duration_text(passed / std::max(share, 1e-3) - passed)));
  }
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
  ProgressLine line_;
};

[[noreturn]] void refuse_unfit(const report::ParallelPlanAnswer& answer, bool is_sure) {
  const bool exceeds = answer.search.nearest_limit.has_value();
  throw ConfigError(fmt::format(
      "{} {}", report::nothing_found_text(answer),
      exceeds ? "Raise the limit, or take more --ranks or another --objective."
              : fmt::format("Take more --ranks, {}or a shorter --sequence.",
                            is_sure ? "accept what likely fits (--fits likely), " : "")));
}

}  // namespace

void ParallelPlanOptions::declare(CLI::App& verb) {
  verb_ = &verb;
  verb.add_option("--parallel", choices_,
                  "Values that parallel plans may have: tensor=4/8,zero=1 (default: all)")
      ->type_name("CHOICES");
  verb.add_option("--fits", fits_,
                  "Parallel plans fit if the high end of their memory does, or if the prediction "
                  "does")
      ->check(CLI::IsMember({"surely", "likely"}))
      ->capture_default_str();
  verb.add_option("--launch-options", launch_,
                  "Framework in whose words the best plan is printed (default: that of "
                  "--framework)")
      ->type_name("{megatron,deepspeed,torchtitan,nanotron}");
  verb.add_option("--device", device_,
                  "Another GPU by its data sheet, for parallel plans: a name in configs/devices, "
                  "such as h200")
      ->type_name("DEVICE");
  verb.add_option("--tokens", tokens_,
                  "Tokens of a whole training, such as 15T: days, price, energy of plans")
      ->type_name("NUMBER");
}

bool ParallelPlanOptions::are_meant(const Network& network) const {
  std::string own;
  std::string other;
  std::string measured;  // belongs to the other search, which it alone does not choose
  for (const CLI::Option* option :
       verb_->get_options([](const CLI::Option* each) { return each->count() > 0; })) {
    const std::string name = option->get_name();
    std::string& kind = name == "--measured" ? measured : other;
    if (is_among(only_here, name)) own = name;
    if (!is_among(only_here, name) && !is_among(shared, name)) kind = name;
  }
  if (!own.empty() && other.empty()) other = measured;
  if (!own.empty() && !other.empty()) {
    throw ConfigError(fmt::format(
        "{} belongs to the search over parallel plans, and {} to that over schedules of data "
        "parallelism. Leave one out.",
        own, other));
  }
  if (!other.empty()) return false;
  if (!model::memory::is_decoder(network)) {
    if (own.empty()) return false;
    if (own == "--tokens") {
      throw ConfigError(fmt::format(
          "--tokens is the length of a training of decoders of equal layers, whose parallel plans "
          "are searched, and {} is none. Give its length in epochs: --epochs N{}.",
          network.name(), network.is_over_sequences() ? " --samples N" : ""));
    }
    throw ConfigError(fmt::format(
        "{} belongs to the search over parallel plans, which are of decoders of equal layers, and "
        "{} is cut by its layers. Ask predict --parallel PLAN, or leave {} out.",
        own, network.name(), own));
  }
  if (measured.empty()) return true;
  throw ConfigError(
      "--measured does not go with the search over parallel plans. Ask predict --parallel PLAN "
      "--measured about a plan, or add --samples N to search schedules of data parallelism.");
}

SearchQuestion ParallelPlanOptions::question(const Network& network,
                                             const TrainingOptions& training,
                                             const PlanOptions& plan, const std::string& framework,
                                             int workers) const {
  SearchQuestion question;
  question.gpus = gpus_of(plan, workers);
  question.training.shape = shape_of(training, network);
  question.training.global_batch = plan.global_batch.find().value_or(question.gpus.back());
  question.training.precision = is_dtype_stated() ? precision_of(training) : Precision::half;
  question.frameworks = searched_frameworks(framework, launch_);
  if (!choices_.empty()) question.choices = model::parallel_search::parse_choices(choices_);
  if (fits_ == "likely") question.fit = model::parallel_search::Fit::likely;
  question.objective = model::parallel_search::parse_objective(plan.objective);
  question.whole = whole_of(tokens_, plan, question.training);
  return question;
}

bool ParallelPlanOptions::is_dtype_stated() const {
  return verb_->get_option("--dtype")->count() > 0;
}

report::Document ParallelPlanOptions::answer(const Network& network,
                                             const TrainingOptions& training,
                                             const PlanOptions& plan, const std::string& framework,
                                             ProgressLine::Kind progress) const {
  report::ParallelPlanAnswer answer;
  Cluster cluster = load_cluster(training.cluster);
  training.inter_node.apply(cluster);
  if (!device_.empty()) cluster = with_device(cluster, device_, answer.notes);
  const SearchQuestion question =
      this->question(network, training, plan, framework, cluster.workers());
  answer.network = network.name();
  answer.dtype = dtype_of(training, is_dtype_stated());
  for (std::string& note : framework_notes(question, !framework.empty())) {
    answer.notes.push_back(std::move(note));
  }
  if (!plan.global_batch.find()) answer.notes.push_back(batch_note(question.training));
  SearchProgress search_progress(progress);
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  answer.search = model::parallel_search::search_plans(
      model::parallel_time::parallel_times(), cluster, question,
      {threads, [&search_progress](double share) { search_progress.show(share); }});
  answer.search_s = search_progress.seconds();
  if (answer.search.best.empty()) refuse_unfit(answer, fits_ == "surely");
  choose_launcher(answer);
  for (std::string& note : limit_notes(answer.search, cluster)) {
    answer.notes.push_back(std::move(note));
  }
  if (plan.price > 0 && !question.whole) {
    answer.notes.push_back(price_note(answer.search, plan.price));
  }
  return report::parallel_plan_document(answer);
}

/// The launch options that were asked for, else those of the best plan's framework.
void ParallelPlanOptions::choose_launcher(report::ParallelPlanAnswer& answer) const {
  const model::parallel_search::FoundPlan& best = answer.search.best.front();
  answer.launch = launch_.empty() ? answer.search.framework_of(best).ways : &launcher(launch_);
  if (answer.launch == nullptr || answer.launch->runs(best.answered.answer.plan)) return;
  throw ConfigError(fmt::format("{} Search with --framework {}, for its own best plan.",
                                answer.launch->left_out, answer.launch->name));
}

}  // namespace dlscale::app
