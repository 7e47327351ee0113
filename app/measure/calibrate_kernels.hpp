#pragma once
#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "app/measure/fit_output.hpp"
#include "core/base/error.hpp"

namespace dlscale::app {

/// Options of `calibrate --kernels`: fits constants of products to published times of kernels.
class CalibrateKernels {
 public:
  /// Adds the option to the verb, which already has all others. Those exclude it, except -o.
  void declare(CLI::App& verb);
  /// Whether --kernels was given.
  [[nodiscard]] bool are_given() const { return !files_.empty(); }
  /// Fits the constants, writes a model of kernels with them to `output` (a file, or - for standard
  /// output) and prints how each GPU does by the fit without it.
  [[nodiscard]] ExitCode calibrate(const std::string& output, const FitsProgress& progress) const;

 private:
  std::vector<std::string> files_;
};

}  // namespace dlscale::app
