#pragma once
#include <string>

namespace CLI {
class App;
class ParseError;
}  // namespace CLI

namespace dlscale::app {

/// A sentence that says what is wrong with a command line that CLI11 refused, and where to read
/// more.
std::string usage_sentence(const CLI::App& program, const CLI::ParseError& error);

}  // namespace dlscale::app
