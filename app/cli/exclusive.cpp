#include "app/cli/exclusive.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace dlscale::app {

void exclude_others(CLI::App& verb, CLI::Option& option,
                    std::initializer_list<const char*> beside) {
  for (CLI::Option* other : verb.get_options()) {
    const bool is_allowed = other == &option || other == verb.get_help_ptr() ||
                            std::ranges::any_of(beside, [&](const char* name) {
                              return other == verb.get_option_no_throw(name);
                            });
    if (!is_allowed) option.excludes(other);
  }
}

}  // namespace dlscale::app
