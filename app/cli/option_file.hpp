#pragma once
#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
class Config;
}  // namespace CLI

namespace dlscale::app {

/// Reads the file of --config as CLI11 reads TOML, a section for each command:
///   [gate]
///   rounds = 80
///   [bench.gemm]
///   samples = 50
/// An unknown section or key, a key that stands twice and a value of another kind than its option
/// takes are errors (CLI::ConfigError). `declare_all` adds the options of all verbs to `program`.
std::shared_ptr<CLI::Config> option_file(CLI::App& program, std::function<void()> declare_all);

/// The options of a command that its command line does not name and that have a value all the same,
/// from the file of --config or from a variable: "--samples=50", one per line.
std::string set_elsewhere(const CLI::App& command);

}  // namespace dlscale::app
