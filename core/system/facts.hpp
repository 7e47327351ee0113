#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <string>

namespace dlscale {

/// Name → value, as text with its unit; or "unavailable: " and the reason.
using Facts = std::map<std::string, std::string>;

/// Facts from the operating system, the scheduler and the build about this process at this moment.
/// They cover uptime, load, clocks and their controls (turbo), hardware threads, memory nodes and
/// links, address randomisation, the scheduler's job with its nodes, the container, and local
/// changes of the source. Root is not needed. Secrets of the user's shell are not read: only the
/// variables of schedulers and containers, by name.
Facts capture_facts();

/// As above, with a tree that looks like / and a separate environment, for tests. `variable`
/// returns null for unset variables.
Facts capture_facts(const std::filesystem::path& root,
                    const std::function<const char*(const char*)>& variable);

/// "unavailable: " and the reason.
std::string unavailable(const std::string& why);

}  // namespace dlscale
