#pragma once
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale {

/// The way to remove the cause of an error, with its values. app/cli/rank0_error.cpp turns it into
/// a command, since only the program knows its options.
struct Remedy {
  enum class Kind { measure, make_data_set } kind = Kind::measure;
  std::string subject;  ///< the benchmark to run, or the folder of the data set
  std::vector<std::pair<std::string, std::string>> axes = {};  ///< values of the benchmark's axes
  int ranks = 1;
};

/// An error of the user's input with a remedy. The message alone says in words what to do.
struct RemediableError : ConfigError {
  RemediableError(const std::string& message, Remedy what)
      : ConfigError(message), remedy(std::move(what)) {}
  Remedy remedy;
};

}  // namespace dlscale
