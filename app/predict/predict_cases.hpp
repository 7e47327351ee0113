#pragma once
#include <string>

#include "core/base/error.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `predict --cases`: predictions of trainings that others published, from a point of
/// the same series that is given.
class PredictCases {
 public:
  /// Adds them to the verb, which has all its other options already: these go only without --cases,
  /// but for -o.
  void declare(CLI::App& verb);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Predicts and writes to `output`, a file or - for standard output.
  [[nodiscard]] ExitCode predict(const std::string& output) const;

 private:
  std::string cases_;
  std::string model_;
};

}  // namespace dlscale::app
