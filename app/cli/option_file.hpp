#pragma once
#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
class Config;
}  // namespace CLI

namespace dlscale::app {

/// Reads the file of --config as TOML by CLI11's rules, with one section for each command:
///   [gate]
///   rounds = 80
///   [bench.gemm]
///   samples = 50
/// Unknown sections or keys, repeated keys, and values of the wrong kind are errors
/// (CLI::ConfigError). `declare_all` adds the options of all verbs to `program`.
std::shared_ptr<CLI::Config> option_file(CLI::App& program, std::function<void()> declare_all);

/// The options of a command that come from the file of --config or from an environment variable,
/// not from its command line: "--samples=50", one per line.
std::string set_elsewhere(const CLI::App& command);

}  // namespace dlscale::app
