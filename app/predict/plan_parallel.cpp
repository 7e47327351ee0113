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
#include <vector>

#include "app/cli/number_sweep.hpp"
#include "app/predict/parallel/predict_parallel.hpp"
#include "core/base/error.hpp"
#include "core/cluster/cluster.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"
#include "model/memory/transformer_shape.hpp"
#include "model/parallel/search/search.hpp"
#include "report/parallel_plan/parallel_plan_table.hpp"

namespace dlscale::app {
namespace {

using model::parallel_search::FrameworkWays;
using model::parallel_search::SearchQuestion;
using model::parallel_time::Precision;

constexpr std::array<std::string_view, 3> only_here{"--parallel", "--fits", "--launch-options"};
constexpr std::array<std::string_view, 16> shared{"--network",
                                                  "--sequence",
                                                  "--cluster",
                                                  "--ranks",
                                                  "--max-ranks",
                                                  "--global-batch",
                                                  "--framework",
                                                  "--dtype",
                                                  "--objective",
                                                  "--cost-per-gpu-hour",
                                                  "--inter-node-bandwidth",
                                                  "--inter-node-latency",
                                                  "--format",
                                                  "--output",
                                                  "--color",
                                                  "--help"};

template <std::size_t N>
bool is_among(const std::array<std::string_view, N>& all, std::string_view name) {
  return std::ranges::find(all, name) != all.end();
}

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

/// The framework that plans are searched for. That of the launch options, where none is named, else
/// Megatron-LM.
std::string searched_framework(const std::string& framework, const std::string& launch) {
  if (framework == "any") return "";
  if (!framework.empty()) return framework;
  return launch.empty() ? "Megatron-LM" : std::string(launcher(launch).title);
}

std::vector<std::string> framework_notes(const SearchQuestion& question, bool is_typed) {
  std::vector<std::string> notes;
  if (!is_typed) {
    notes.push_back(fmt::format("as {} runs it; --framework names another, or any",
                                question.training.framework));
  }
  if (question.ways != nullptr) notes.emplace_back(question.ways->left_out);
  return notes;
}

std::optional<double> price_of(const PlanOptions& plan) {
  return plan.price > 0 ? std::optional(plan.price) : std::nullopt;
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
}

bool ParallelPlanOptions::are_meant(const Network& network) const {
  std::string own;
  std::string other;
  for (const CLI::Option* option :
       verb_->get_options([](const CLI::Option* each) { return each->count() > 0; })) {
    const std::string name = option->get_name();
    if (is_among(only_here, name)) own = name;
    if (!is_among(only_here, name) && !is_among(shared, name)) other = name;
  }
  if (!own.empty() && !other.empty()) {
    throw ConfigError(fmt::format(
        "{} belongs to the search over parallel plans, and {} to that over schedules of data "
        "parallelism. Leave one out.",
        own, other));
  }
  if (!other.empty()) return false;
  try {
    model::memory::transformer_shape(network);
    return true;
  } catch (const ConfigError&) {
    if (!own.empty()) throw;
    return false;
  }
}

report::Document ParallelPlanOptions::answer(const Network& network,
                                             const TrainingOptions& training,
                                             const PlanOptions& plan,
                                             const std::string& framework) const {
  Cluster cluster = load_cluster(training.cluster);
  training.inter_node.apply(cluster);
  SearchQuestion question;
  question.gpus = gpus_of(plan, cluster.workers());
  question.training.shape = model::memory::transformer_shape(network);
  const std::optional<std::int64_t> batch = plan.global_batch.find();
  question.training.global_batch = batch.value_or(question.gpus.back());
  const bool is_dtype_stated = verb_->get_option("--dtype")->count() > 0;
  question.training.precision = is_dtype_stated ? precision_of(training) : Precision::half;
  question.training.framework = searched_framework(framework, launch_);
  question.ways = model::parallel_search::ways_of(question.training.framework);
  if (!choices_.empty()) question.choices = model::parallel_search::parse_choices(choices_);
  if (fits_ == "likely") question.fit = model::parallel_search::Fit::likely;
  question.objective = model::parallel_search::parse_objective(plan.objective);

  report::ParallelPlanAnswer answer;
  answer.network = network.name();
  answer.dtype = dtype_of(training, is_dtype_stated);
  answer.launch = launch_.empty() ? question.ways : &launcher(launch_);
  answer.notes = framework_notes(question, !framework.empty());
  if (!batch) {
    answer.notes.push_back(
        fmt::format("global batch: {} sequences of {} tokens, one for each GPU of the most; "
                    "--global-batch says "
                    "another",
                    question.training.global_batch, question.training.shape.sequence));
  }
  const auto begin = std::chrono::steady_clock::now();
  const int threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  answer.search = model::parallel_search::search_plans(model::parallel_time::parallel_times(),
                                                       cluster, question, threads);
  answer.search_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (answer.search.best.empty()) {
    throw ConfigError(fmt::format(
        "{} Take more --ranks, {}or a shorter --sequence.", report::nothing_fits_text(answer),
        fits_ == "surely" ? "accept what likely fits (--fits likely), " : ""));
  }
  const auto& best = answer.search.best.front().answered.answer.plan;
  if (answer.launch != nullptr && !answer.launch->runs(best)) {
    throw ConfigError(fmt::format("{} Search with --framework {}, for its own best plan.",
                                  answer.launch->left_out, answer.launch->name));
  }
  if (const auto price = price_of(plan)) answer.notes.push_back(price_note(answer.search, *price));
  return report::parallel_plan_document(answer);
}

}  // namespace dlscale::app
