#pragma once
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale {

/// The way to remove the cause of an error, with its values. app/cli/rank0_error.cpp turns it into
/// a command, since only the program knows its options.
struct Remedy {
  enum class Kind {
    measure,
    make_data_set,
    calibrate,       ///< make a machine description from results
    fit_kernels,     ///< make kernel models from results
    fit_scaling,     ///< make a model of scaling from published cases
    list_configured  ///< see the names of configurations
  } kind = Kind::measure;
  std::string subject = {};  ///< the benchmark, the folder of the data set, or the file of results
  std::vector<std::pair<std::string, std::string>> axes = {};  ///< values of the benchmark's axes
  int ranks = 1;
};

/// An error of the user's input with remedies, each of which is needed. The message alone says in
/// words what to do.
struct RemediableError : ConfigError {
  RemediableError(const std::string& message, std::vector<Remedy> needed)
      : ConfigError(message), remedies(std::move(needed)) {}
  RemediableError(const std::string& message, Remedy needed)
      : RemediableError(message, std::vector<Remedy>{std::move(needed)}) {}
  std::vector<Remedy> remedies;
};

/// Words an error that does not end the work. The program's adds the commands of remedies.
using Wording = std::function<std::string(const Error&)>;
inline std::string message_of(const Error& error) {
  return error.what();
}

}  // namespace dlscale
