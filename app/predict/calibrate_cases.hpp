#pragma once
#include <string>

#include "core/base/error.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `calibrate --cases`: fits the model of scaling to trainings that others measured and
/// published.
class CalibrateCases {
 public:
  /// Adds them to the verb, which has all its other options already: these go only without --cases,
  /// but for -o.
  void declare(CLI::App& verb);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Fits, writes the model to `output`, a file or - for standard output, and prints its
  /// parameters.
  [[nodiscard]] ExitCode calibrate(const std::string& output) const;

 private:
  std::string cases_;
  bool choose_terms_ = false;
};

}  // namespace dlscale::app
