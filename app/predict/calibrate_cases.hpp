#pragma once
#include <string>

#include "core/base/error.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// Options of `calibrate --cases`: fits the scaling model to published measurements of trainings.
class CalibrateCases {
 public:
  /// Adds the options to the verb, which already has all others. Those exclude --cases, except -o.
  void declare(CLI::App& verb);
  /// Whether --cases was given.
  [[nodiscard]] bool are_given() const { return !cases_.empty(); }
  /// Fits the model, writes it to `output` (a file, or - for standard output) and prints its
  /// parameters.
  [[nodiscard]] ExitCode calibrate(const std::string& output) const;

 private:
  std::string cases_;
  bool choose_terms_ = false;
};

}  // namespace dlscale::app
