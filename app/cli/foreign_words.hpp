#pragma once
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace dlscale::app {

/// Words of other tools (launchers, schedulers, frameworks, benchmarks) and ours for them.

/// A sentence that names our option for one of another tool, "--gpus" or "-N", which may have a
/// value, or that says why there is none; empty for any other word.
std::string answer_to_foreign(const CLI::App& command, std::string_view word,
                              std::string_view value);

/// A sentence that names our verb for one of another tool below a command ("diff" of the program,
/// "show" of "history"); empty for any other word.
std::string answer_to_foreign_verb(const CLI::App& command, std::string_view word);

/// A sentence on a value of other tools that has no word here, "fp8"; empty for any other.
std::string advice_on_value(std::string_view option, const std::string& value);

/// The value of an option, maybe a list with commas, with our names of data types: "fp16" and
/// "half" are f16. Throws ConfigError with advice for values that have no word here: "fp8".
std::string our_values(std::string_view option, const std::string& value);

}  // namespace dlscale::app
