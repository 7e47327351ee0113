#pragma once
#include <string>

#include "core/base/error.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `predict --cases`: predicts published trainings from a given point of the same
/// series.
class PredictCases {
 public:
  /// Adds the options to the verb, which already has all others. Those exclude --cases, except -o.
  void declare(CLI::App& verb);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Predicts and writes to `output`: a file, or - for standard output.
  [[nodiscard]] ExitCode predict(const std::string& output) const;

 private:
  std::string cases_;
  std::string model_;
};

}  // namespace dlscale::app
