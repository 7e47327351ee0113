#pragma once
#include <initializer_list>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// Makes `option` exclude all other options of the verb, except those named in `beside` and the
/// help.
void exclude_others(CLI::App& verb, CLI::Option& option, std::initializer_list<const char*> beside);

}  // namespace dlscale::app
