#pragma once
#include <string_view>

#include "core/error.hpp"
#include "core/family.hpp"

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
};

}  // namespace dlscale::app

namespace dlscale {
template <>
Family<app::Verb> family<app::Verb>();
}  // namespace dlscale
