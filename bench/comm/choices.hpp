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

/// Work that overlaps the messages, and its time as a multiple of theirs, as the axes spell them;
/// both empty: none.
struct OverlapChoice {
  std::string work;
  std::string ratio;
};

/// The checked values of the axes.
struct Choices {
  Words collectives;
  Words sizes;
  Words networks;
  Words dtypes;
  Words ops;
  Words modes;
  Words placements;  ///< "yes", "no"; empty: none was given
  Words algorithms;
  Words segments;
  Words servers;  ///< numbers
  Words waitings;
  Words caches;
  Words memories;  ///< "host", "device"
  std::vector<OverlapChoice> besides;
};

/// Throws ConfigError for unknown words, and for options that affect none of the collectives.
Choices read_choices(const Context& context);

/// Whether an axis applies to a collective or pattern.
bool concerns(std::string_view axis, std::string_view collective);

/// The overlapping work for a collective or pattern; one empty choice where overlap does not apply.
std::vector<OverlapChoice> besides_for(const std::string& collective, const Choices& chosen);

/// Whether any of the overlapping work needs a compute backend.
bool computes(const Choices& chosen);

/// Whether some messages are in device memory.
bool lie_on_device(const Choices& chosen);

/// Completes --memory and --backend if only one of them was given: device memory implies cuda, and
/// a backend with its own memory implies device memory. `given` are the axes of the command line.
void settle_memory(std::map<std::string, std::string>& values, const std::set<std::string>& given);

/// The values of an axis for a collective; a single empty one where it does not apply.
Words values_for(std::string_view axis, const std::string& collective, const Words& values);

/// In place or not: the given values, else in place. Collectives of blocks are out of place by
/// default, as in training. A single empty value where the axis does not apply.
Words placements_for(const std::string& collective, const Choices& chosen);

/// The chosen algorithms that exist for a collective, each once; "library" is the library's own.
Words algorithms_for(const std::string& name, const Words& chosen);

/// Whether the algorithm is one of dlscale's that cut messages into segments.
bool reads_segments(const std::string& collective, const std::string& algorithm);

/// Whether the algorithm is one of dlscale's with parameter servers.
bool reads_servers(const std::string& collective, const std::string& algorithm);

/// Message sizes in bytes for an element type; {0} for a barrier. Throws ConfigError.
std::vector<std::int64_t> sizes_for(const std::string& collective, const Choices& chosen,
                                    const std::string& dtype, int ranks);

/// The value with that name, which must exist.
template <class All>
auto named(const All& all, std::string_view name) {
  for (const auto each : all) {
    if (to_string(each) == name) return each;
  }
  fail_expectation("a name that was checked");
}

}  // namespace dlscale::bench
