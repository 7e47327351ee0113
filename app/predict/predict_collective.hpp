#pragma once
#include <string>
#include <vector>

#include "app/options/training_options.hpp"
#include "report/table/table.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `predict --collective`: predicts messages alone, outside of any training.
class PredictCollective {
 public:
  /// Adds the options to the verb, which already has all others. Only those on ranks, hardware and
  /// output go with --collective.
  void declare(CLI::App& verb);
  /// Whether --collective was given.
  [[nodiscard]] bool is_given() const { return !collective_.empty(); }
  /// Predicts every size by every algorithm on every number of ranks. Throws ConfigError.
  [[nodiscard]] report::Document predict(const TrainingOptions& options,
                                         const std::vector<std::string>& ranks) const;

 private:
  std::string collective_;
  std::vector<std::string> sizes_;
  std::vector<std::string> algorithms_;
};

}  // namespace dlscale::app
