#pragma once
#include <functional>
#include <map>
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

/// The settings of a command on which its ranks must agree: "--samples" → "50", from its command
/// line, the file of --config, an environment variable or by default. Nodes may have other cores,
/// and other names for files and folders, of which only "given" counts.
std::map<std::string, std::string> settings_of(const CLI::App& command);

}  // namespace dlscale::app
