#pragma once
#include <string_view>

#include "core/base/error.hpp"
#include "core/base/family.hpp"

namespace CLI {
class App;
}

namespace dlscale::app {

/// A word on the command line: `dlscale <name>`. `declare` adds its options to `command` and sets
/// a callback that runs it and leaves the exit code in `result`, which outlives the parse.
struct Verb {
  std::string_view name;
  std::string_view doc;
  void (*declare)(CLI::App& command, ExitCode& result);
  /// What SIGINT and SIGTERM do: end the process at once, for verbs that only compute and write at
  /// their end; or be remembered by those that look for them (core/base/interrupt.hpp), since what they
  /// have done so far is kept.
  enum class Signals { end_at_once, are_remembered } signals = Signals::end_at_once;
};

}  // namespace dlscale::app

namespace dlscale {
template <>
Family<app::Verb> family<app::Verb>();
}  // namespace dlscale
