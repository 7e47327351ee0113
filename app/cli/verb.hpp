#pragma once
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/family.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// A verb of the program: `dlscale <name>`. `declare` adds its options to `command` and sets a
/// callback that runs it and stores the exit code in `result`, which outlives the parse.
struct Verb {
  std::string_view name;
  std::string_view doc;
  void (*declare)(CLI::App& command, ExitCode& result);
  /// The effect of SIGINT and SIGTERM. Verbs that only compute, and write at their end, end at
  /// once. Verbs that keep their partial results remember the signal and poll it
  /// (core/base/interrupt.hpp).
  enum class Signals { end_at_once, are_remembered } signals = Signals::end_at_once;
};

}  // namespace dlscale::app

namespace dlscale {
template <>
Family<app::Verb> family<app::Verb>();
}  // namespace dlscale
