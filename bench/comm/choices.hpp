#pragma once
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {

using Words = std::vector<std::string>;

/// Work beside the messages, and how many times as long as they it takes, as the axes have them;
/// both empty: none.
struct BesideChoice {
  std::string work;
  std::string ratio;
};

/// What the axes say, checked.
struct Choices {
  Words collectives;
  Words sizes;
  Words networks;
  Words dtypes;
  Words ops;
  Words modes;
  Words placements;  ///< "yes", "no"; empty: none was named
  Words algorithms;
  Words segments;
  Words servers;  ///< numbers
  Words waitings;
  Words caches;
  Words memories;  ///< "host", "device"
  std::vector<BesideChoice> besides;
};

/// Throws ConfigError for words that mean nothing, and for options that have no effect on any of
/// the collectives.
Choices read_choices(const Context& context);

/// Whether an axis means something for a collective or pattern.
bool concerns(std::string_view axis, std::string_view collective);

/// What is done beside a collective or pattern: nothing beside what is none.
std::vector<BesideChoice> besides_for(const std::string& collective, const Choices& chosen);

/// Whether a compute backend does any of that.
bool computes(const Choices& chosen);

/// Whether messages lie in memory of a device, too.
bool lie_on_device(const Choices& chosen);

/// What --memory and --backend are, of which not both were named: memory of a device is that of
/// cuda, and a backend with memory of its own means that memory. `given` are the axes that were
/// named.
void settle_memory(std::map<std::string, std::string>& values, const std::set<std::string>& given);

/// The values of an axis for a collective: none but an empty one where it means nothing.
Words values_for(std::string_view axis, const std::string& collective, const Words& values);

/// In place or not: as named, else in place, but for blocks, which training sends from one place to
/// another. None but an empty one where it means nothing.
Words placements_for(const std::string& collective, const Choices& chosen);

/// The algorithms of a collective among those chosen, each once; "library" is that of the library.
Words algorithms_for(const std::string& name, const Words& chosen);

/// Whether the algorithm is one of ours that cuts messages into segments.
bool reads_segments(const std::string& collective, const std::string& algorithm);

/// Whether it is one of ours that has parameter servers.
bool reads_servers(const std::string& collective, const std::string& algorithm);

/// Bytes of messages of such elements; {0} of a barrier. Throws ConfigError.
std::vector<std::int64_t> sizes_for(const std::string& collective, const Choices& chosen,
                                    const std::string& dtype, int ranks);

/// The value of that name, which is one of them.
template <class All>
auto named(const All& all, std::string_view name) {
  for (const auto each : all) {
    if (to_string(each) == name) return each;
  }
  fail_expectation("a name that was checked");
}

}  // namespace dlscale::bench
