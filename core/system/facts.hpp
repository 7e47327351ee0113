#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace dlscale {

/// Name → value, as text with its unit; or "unavailable: " and why.
using Facts = std::map<std::string, std::string>;

/// What the operating system, the scheduler and the build say of this process's circumstances at
/// this moment: when the machine was started, how busy it is, its clocks and what changes them
/// (turbo), hardware threads, memory nodes and links, whether addresses are random, the
/// scheduler's job with its nodes, the container, and local changes of the source. Nothing needs
/// root. No secret of the user's shell: of the environment only the variables that schedulers and
/// containers set, by name.
Facts capture_facts();

/// The same of a tree that looks like / and of an environment of its own, for tests. `variable`
/// returns null for what is not set.
Facts capture_facts(const std::filesystem::path& root,
                    const std::function<const char*(const char*)>& variable);

/// "unavailable: " and why.
std::string unavailable(const std::string& why);

}  // namespace dlscale
