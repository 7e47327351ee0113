#include "bench/memory/host/reported_caches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/base/error.hpp"
#include "core/system/environment.hpp"
#include "core/text/quantity_text.hpp"

namespace dlscale::bench {
namespace {

double doublings_apart(Bytes reported, const CacheLevel& level) {
  return std::abs(std::log2(static_cast<double>(level.bytes) / reported.si()));
}

Bytes seen_of(const ReportedCache& cache) {
  return Bytes(static_cast<double>(std::max(cache.measured, cache.part)));
}

}  // namespace

std::vector<ReportedCache> match(std::span<const backend::DataCache> reported,
                                 std::span<const CacheLevel> measured) {
  std::vector<CacheLevel> left;
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(left),
               [](const CacheLevel& level) { return level.bytes_high > level.bytes; });
  std::vector<ReportedCache> all;
  all.reserve(reported.size());
  for (const backend::DataCache& cache : reported) {
    all.push_back({cache});
    const auto nearest =
        std::min_element(left.begin(), left.end(), [&](const CacheLevel& a, const CacheLevel& b) {
          return doublings_apart(cache.size, a) < doublings_apart(cache.size, b);
        });
    if (nearest == left.end() || doublings_apart(cache.size, *nearest) > 1) continue;
    all.back().measured = nearest->bytes;
    left.erase(left.begin(), nearest + 1);
  }
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (all[i].measured > 0) continue;
    const Bytes before = all[i - 1].reported.size;
    for (const CacheLevel& level : left) {
      const Bytes size(static_cast<double>(level.bytes));
      if (size > before && size < all[i].reported.size) all[i].part = level.bytes;
    }
  }
  return all;
}

double share_of_pages(double level, double larger_in_small, double larger_in_huge) {
  const double rise = larger_in_small - level;
  if (rise <= 0) return 0;
  return std::clamp((larger_in_small - larger_in_huge) / rise, 0.0, 1.0);
}

std::string comparison(std::span<const ReportedCache> caches) {
  std::string text;
  for (const ReportedCache& each : caches) {
    const std::string size = to_text(each.reported.size);
    const Bytes seen = seen_of(each);
    const std::string found =
        seen == Bytes(0)
            ? "not seen"
            : fmt::format("{} {}", each.part > 0 ? "seen up to" : "measured", to_text(seen));
    text += fmt::format("{}L{} {} {}", text.empty() ? "" : ", ", each.reported.level, size, found);
  }
  return text;
}

std::optional<std::string> last_is_smaller(std::span<const ReportedCache> caches) {
  if (caches.empty()) return std::nullopt;
  const ReportedCache& last = caches.back();
  const Bytes seen = seen_of(last);
  if (seen >= 0.75 * last.reported.size) return std::nullopt;
  return fmt::format(
      "the system says that L{} has {}, but the latencies show {}: other programs, ranks or guests "
      "of a virtual machine's host may hold the rest, or the host may grant less than it tells. "
      "Measure one rank on a machine of its own to see all of it.",
      last.reported.level, to_text(last.reported.size),
      seen == Bytes(0) ? "no level of it" : to_text(seen) + " of it");
}

std::size_t beyond_caches(Bytes last_level_cache) {
  return static_cast<std::size_t>(4 * last_level_cache.si()) / 64 * 64;
}

std::size_t chased_beyond_caches(Bytes last_level_cache) {
  return std::min(beyond_caches(last_level_cache), most_chased);
}

void expect_room(std::string_view what, double bytes, const backend::Communicator& communicator) {
  const Bytes all(bytes * communicator.node_size());
  const Bytes memory = physical_memory();
  if (all <= memory / 2) return;
  throw ConfigError(fmt::format(
      "{}, for which the {} rank(s) of this node need {}: more than half of its {} of memory. Give "
      "smaller ones.",
      what, communicator.node_size(), to_text(all), to_text(memory)));
}

std::size_t memory_share(const backend::Communicator& communicator) {
  return static_cast<std::size_t>(physical_memory().si() / 8 / communicator.node_size());
}

}  // namespace dlscale::bench
