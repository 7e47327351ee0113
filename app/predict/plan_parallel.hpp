#pragma once
#include <string>

#include "app/options/training_options.hpp"
#include "app/predict/plan_options.hpp"
#include "core/network/network.hpp"
#include "core/text/progress_line.hpp"
#include "model/parallel/search/question.hpp"
#include "report/parallel_plan/parallel_plan_table.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// The search of dlscale plan over all parallel plans of a transformer
/// (docs/explanation/parallel-search.md). It answers for decoders of equal layers unless an option
/// of the search over schedules is named, such as --epochs. A whole training has a length in
/// tokens.
class ParallelPlanOptions {
 public:
  /// Declares --parallel, --fits, --launch-options, --device and --tokens. Call it after all other
  /// options of the verb.
  void declare(CLI::App& verb);
  /// Whether this search answers, by the options that were typed. Throws ConfigError for options of
  /// both searches, and for options of this one with another network.
  [[nodiscard]] bool are_meant(const Network& network) const;
  /// The answer. Throws ConfigError, also if nothing fits.
  [[nodiscard]] report::Document answer(const Network& network, const TrainingOptions& training,
                                        const PlanOptions& plan, const std::string& framework,
                                        ProgressLine::Kind progress) const;

 private:
  [[nodiscard]] model::parallel_search::SearchQuestion question(const Network& network,
                                                                const TrainingOptions& training,
                                                                const PlanOptions& plan,
                                                                const std::string& framework,
                                                                int workers) const;
  [[nodiscard]] bool is_dtype_stated() const;
  void choose_launcher(report::ParallelPlanAnswer& answer) const;

  const CLI::App* verb_ = nullptr;
  std::string choices_;
  std::string fits_ = "surely";
  std::string launch_;
  std::string device_;
  std::string tokens_;
};

}  // namespace dlscale::app
