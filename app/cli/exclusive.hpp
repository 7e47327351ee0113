#pragma once
#include <initializer_list>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace dlscale::app {

/// From now on `option` goes only without all other options that the verb has, except those named
/// in `beside` and the help.
void exclude_others(CLI::App& verb, CLI::Option& option, std::initializer_list<const char*> beside);

}  // namespace dlscale::app
