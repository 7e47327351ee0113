#include "app/report/further_questions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <set>
#include <sstream>
#include <string>
#include <utility>

#include "app/report/asked_options.hpp"
#include "report/answers/parallel_page.hpp"
#include "report/parallel/parallel_rows.hpp"

namespace dlscale::app {
namespace {

using report::Json;
using report::NextStep;

/// The options of an answer with those of one of its plans, on as many ranks as `ranks` says.
AskedOptions asked_of_plan(AskedOptions asked, const Json& plan, const Json& ranks,
                           const Json& global_batch) {
  asked.set("ranks", fmt::format("{}", ranks.get<long long>()));
  asked.set("global-batch", fmt::format("{}", global_batch.get<long long>()));
  asked.set("parallel", plan.at("plan").get<std::string>());
  return asked;
}

NextStep how_fast(const AskedOptions& asked) {
  return {"See how fast it is:", asked.command("predict")};
}

NextStep what_shortens(AskedOptions asked, const std::string& bound = "") {
  asked.leave_out("straggler-spread");  // an explanation is of equal ranks
  return {fmt::format("See what would shorten an iteration{}:",
                      bound.empty() ? "" : " bound by " + bound),
          asked.command("predict", "explain")};
}

NextStep what_it_keeps(const AskedOptions& asked) {
  return {"See what a rank keeps in memory:", asked.command("predict", "memory")};
}

/// A search over the parallel plans of the same training, which takes no options of data
/// parallelism.
NextStep search(const std::string& reason, AskedOptions asked) {
  for (const char* name :
       {"parallel", "measured", "machine", "batch", "cores-per-rank", "normalize", "fuse"}) {
    asked.leave_out(name);
  }
  return {reason, asked.command("plan")};
}

/// The same training with what fits the memory: the largest batch, or a plan by which ranks share
/// it if a rank can hold no batch. Absent without such plans.
std::optional<NextStep> what_fits(AskedOptions asked, int largest_batch, bool has_plans) {
  if (largest_batch == 0 && !has_plans) return {};
  if (largest_batch == 0) return search("Search the plans by which ranks share it:", asked);
  asked.leave_out("global-batch");
  asked.set("batch", fmt::format("{}", largest_batch));
  return NextStep{"Take the largest batch that likely fits:", asked.command("predict")};
}

/// Predictions from one rank to those that were explained, or on the several that were. Absent if
/// that is one rank alone.
std::optional<NextStep> how_it_scales(AskedOptions asked, const Json& answer) {
  std::set<long long> ranks;
  for (const Json& one : answer.at("explanations")) {
    ranks.insert(one.at("prediction").at("run").at("ranks").get<long long>());
  }
  const long long most = *ranks.rbegin();
  if (most == 1) return {};
  if (ranks.size() == 1) {
    const bool is_power = std::has_single_bit(static_cast<unsigned long long>(most));
    asked.set("ranks", fmt::format(fmt::runtime(is_power ? "1..{}:x2" : "1,{}"), most));
  }
  return NextStep{"See how it scales, with intervals:", asked.command("predict")};
}

/// The largest batch that fits, else the first.
const Json& largest_fitting(const Json& trainings) {
  const Json* largest = &trainings.at(0);
  for (const Json& one : trainings) {
    const bool fits = one.at("fits") == "yes" || one.at("fits") == "likely";
    if (fits && one.at("batch") > largest->at("batch")) largest = &one;
  }
  return *largest;
}

/// The same search over all ranks of the cluster; absent unless the options alone bound the best.
std::optional<NextStep> more_ranks(AskedOptions asked, const Json& answer) {
  const Json& all = answer.at("question").at("cluster_ranks");
  const bool is_bound =
      answer.at("ranks_bound_by") == "asked" && answer.at("best").at(0).at("ranks") < all;
  if (!is_bound) return {};
  asked.leave_out("ranks");
  asked.leave_out("max-ranks");
  return NextStep{fmt::format("Choose from all {} ranks of the cluster:", all.dump()),
                  asked.again("plan")};
}

/// A change of a plan, "recompute=full", in the text of the plan.
std::string changed_plan(const Json& plan, const std::string& change) {
  std::string text = plan.at("plan").get<std::string>();
  std::istringstream changes(change);
  for (std::string one; std::getline(changes, one, ',');) {
    const std::string key = one.substr(0, one.find('=') + 1);
    const std::size_t known = ("," + text).find("," + key);
    if (known == std::string::npos) {
      text += (text.empty() ? "" : ",") + one;
    } else {
      const std::size_t end = text.find(',', known);
      text.replace(known, end == std::string::npos ? end : end - known, one);
    }
  }
  return text;
}

/// Steps for a plan that surely fits: how fast it is, and a search where the memory has room.
std::vector<NextStep> steps_of_fitting_plan(const AskedOptions& asked, const Json& plan,
                                            bool has_search) {
  std::vector<NextStep> steps{
      how_fast(asked_of_plan(asked, plan, plan.at("ranks"), plan.at("global_batch")))};
  const double device = plan.at("device_memory_bytes").get<double>();
  const double free = device - plan.at("memory_high_bytes").get<double>();
  constexpr double much = 0.2;  // such as for a larger micro-batch, or less recomputation
  if (has_search && free > much * device) {
    steps.push_back(search("Search for a faster plan that fits:", asked));
  }
  return steps;
}

/// Steps for a plan that does not surely fit: the quickest change by which it does, and a search.
std::vector<NextStep> steps_of_large_plan(const AskedOptions& asked, const Json& plan,
                                          bool has_search) {
  const AskedOptions same = asked_of_plan(asked, plan, plan.at("ranks"), plan.at("global_batch"));
  std::vector<NextStep> steps;
  if (const auto cures = plan.find("would_fit"); cures != plan.end() && !cures->empty()) {
    AskedOptions cured = same;
    const auto change = cures->at(0).at("change").get<std::string>();
    cured.set("parallel", changed_plan(plan, change));
    steps.push_back({fmt::format("See how fast it is with {}:", change), cured.command("predict")});
  }
  if (has_search) steps.push_back(search("Search the plans that fit:", asked));
  if (steps.empty()) steps.push_back(how_fast(same));
  return steps;
}

/// Steps for the plan that the verdict names: of those that surely fit, else of all, the one that
/// needs least.
std::vector<NextStep> steps_of_plan_memory(const AskedOptions& asked, const Json& answer) {
  const Json& plans = answer.at("plans");
  const auto fit_and_need = [](const Json& plan) {
    return std::pair(plan.at("fits") != "yes", plan.at("memory_bytes").get<double>());
  };
  const Json& plan = *std::min_element(
      plans.begin(), plans.end(),
      [&](const Json& one, const Json& other) { return fit_and_need(one) < fit_and_need(other); });
  const bool has_search = answer.at("schema") != "dlscale.stages_memory";
  return plan.at("fits") == "yes" ? steps_of_fitting_plan(asked, plan, has_search)
                                  : steps_of_large_plan(asked, plan, has_search);
}

}  // namespace

std::vector<NextStep> steps_of_run(const report::SuggestedRun& run, const Json& answer) {
  std::optional<AskedOptions> asked = AskedOptions::of(answer);
  if (!asked || !asked->has("network") || asked->are_swept()) return {};
  asked->set("ranks", fmt::format("{}", run.ranks));
  if (!asked->has("global-batch")) asked->set("batch", fmt::format("{}", run.batch));
  if (asked->has("schedule")) asked->set("schedule", run.schedule);
  std::vector<NextStep> steps{what_shortens(*asked, run.bound)};
  if (run.largest_batch) {
    const auto cure = what_fits(*asked, *run.largest_batch, run.samples == "SEQUENCES");
    if (cure) steps.insert(steps.begin(), *cure);
  }
  if (!run.cluster.empty() && !asked->has("measured")) {
    steps.push_back({fmt::format("Narrow the interval by a rate that was measured on one rank; "
                                 "write it in place of {}:",
                                 run.samples),
                     fmt::format("{} --measured '1={}/s'", asked->command("predict"), run.samples),
                     {run.samples}});
  }
  steps.push_back(what_it_keeps(*asked));
  return steps;
}

std::vector<NextStep> steps_of_planned_run(const Json& answer) {
  std::optional<AskedOptions> asked = AskedOptions::of(answer);
  if (!asked) return {};
  const Json& best = answer.at("best").at(0);
  std::vector<NextStep> steps;
  if (const auto more = more_ranks(*asked, answer)) steps.push_back(*more);
  if (asked->has("measured")) return steps;
  asked->set("ranks", best.at("ranks").dump());
  if (!asked->has("global-batch")) asked->set("batch", best.at("batch").dump());
  asked->set("schedule", best.at("schedule").get<std::string>());
  for (const char* name : {"synchronisation", "servers", "sharding", "transport"}) {
    const Json& value = best.at(name);
    const bool is_usual = value == "all_reduce" && !asked->has(name);
    if (!value.is_null() && !is_usual) {
      asked->set(name, value.is_string() ? value.get<std::string>() : value.dump());
    }
  }
  if (const Json& bucket = best.at("bucket_bytes"); !bucket.is_null()) {
    asked->set("bucket", fmt::format("{:.0f} B", bucket.get<double>()));
  }
  steps.push_back(what_shortens(*asked));
  if (answer.at("batch_bound_by") == "memory") steps.push_back(what_it_keeps(*asked));
  return steps;
}

std::vector<NextStep> steps_of_parallel_run(const Json& answer) {
  const std::optional<AskedOptions> given = AskedOptions::of(answer);
  if (!given) return {};
  const Json& plans = answer.at("plans");
  const Json& best = report::best_plan(plans);
  const AskedOptions asked = asked_of_plan(*given, best, best.at("ranks"), best.at("global_batch"));
  if (best.at("fits") != "yes") {
    return {search("Search the plans that fit:", asked), what_it_keeps(asked)};
  }
  std::vector<NextStep> steps;
  // Measured points are of the first plan, so that they say another thing beside another.
  if (!given->has("measured") || best.at("plan") == plans.at(0).at("plan")) {
    steps.push_back(what_shortens(asked));
  }
  steps.push_back(search("Search for a faster plan:", asked));
  if (!given->has("measured")) {
    steps.push_back({"Narrow the interval by an iteration that was measured; write it in place of "
                     "SECONDS:",
                     fmt::format("{} --measured '{}=SECONDS s'", asked.command("predict"),
                                 best.at("ranks").dump()),
                     {"SECONDS"}});
  }
  return steps;
}

std::vector<NextStep> steps_of_parallel_plan(const Json& answer) {
  const std::optional<AskedOptions> given = AskedOptions::of(answer);
  if (!given || given->has("inter-node-latency")) return {};
  const Json& best = answer.at("best").at(0);
  AskedOptions asked = asked_of_plan(*given, best, best.at("gpus"), answer.at("global_batch"));
  if (answer.at("frameworks").size() != 1 || !asked.has("framework")) {
    asked.set("framework", best.at("framework").get<std::string>());
  }
  std::vector<NextStep> steps{{"See where the time of the best goes:", asked.command("predict")}};
  const Json* leanest = report::leanest_close(answer);
  if (leanest == nullptr) {
    steps.push_back({"See what would shorten it:", asked.command("predict", "explain")});
    return steps;
  }
  asked.set("parallel", leanest->at("plan").get<std::string>());
  asked.set("framework", leanest->at("framework").get<std::string>());
  steps.push_back(
      {fmt::format("See the leanest plan within {} of the best:", report::close_text(answer)),
       asked.command("predict")});
  return steps;
}

std::vector<NextStep> steps_of_memory(const Json& answer) {
  std::optional<AskedOptions> asked = AskedOptions::of(answer);
  if (!asked) return {};
  if (answer.contains("plans")) return steps_of_plan_memory(*asked, answer);
  if (report::fits_no_batch(answer)) {
    return {search("Search the plans by which ranks share it:", *asked)};
  }
  if (!asked->has("ranks")) asked->set("ranks", "1");
  const Json& training = largest_fitting(answer.at("trainings"));
  // Answers of earlier versions do not state it, nor do those of ranks with unlike memories.
  const Json largest = answer.value("largest_batch", Json());
  std::vector<NextStep> steps;
  const Json& fits = training.at("fits");
  const bool does_fit = fits == "yes" || fits == "likely";
  const bool has_larger = does_fit && !asked->has("global-batch");
  if (largest.is_number() && (has_larger ? largest > training.at("batch") : !does_fit)) {
    steps.push_back(*what_fits(*asked, largest.get<int>(), true));
  }
  if (!does_fit && fits != "unknown") return steps;
  if (!asked->has("global-batch")) asked->set("batch", training.at("batch").dump());
  steps.push_back(how_fast(*asked));
  return steps;
}

std::vector<NextStep> steps_of_stages(const Json& answer) {
  const std::optional<AskedOptions> asked = AskedOptions::of(answer);
  if (!asked) return {};
  return {{"See what each stage does:", asked->command("predict", "explain")},
          {"See what each stage keeps in memory:", asked->command("predict", "memory")}};
}

std::vector<NextStep> steps_of_branches(const Json& answer) {
  std::optional<AskedOptions> asked = AskedOptions::of(answer);
  if (!asked) return {};
  asked->leave_out("parallel");
  return {{"See the same network by data parallelism alone:", asked->command("predict")}};
}

std::vector<NextStep> steps_of_explanation(const Json& answer) {
  const std::optional<AskedOptions> asked = AskedOptions::of(answer);
  if (!asked) return {};
  std::vector<NextStep> steps;
  if (asked->has("parallel")) {
    steps.push_back({"See where its time goes, with its interval:", asked->command("predict")});
  } else if (const auto scaling = how_it_scales(*asked, answer)) {
    steps.push_back(*scaling);
  }
  steps.push_back(what_it_keeps(*asked));
  return steps;
}

std::vector<NextStep> steps_of_details(const Json& answer) {
  std::optional<AskedOptions> asked = AskedOptions::of(answer);
  if (!asked || !asked->has("network")) return {};
  if (!asked->has("ranks")) asked->set("ranks", "1");
  std::vector<NextStep> steps{how_fast(*asked), what_shortens(*asked)};
  if (!asked->has("out-of-core")) steps.push_back(what_it_keeps(*asked));
  return steps;
}

}  // namespace dlscale::app
