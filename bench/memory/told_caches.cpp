#include "bench/memory/told_caches.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "core/quantity_text.hpp"

namespace dlscale::bench {
namespace {

double doublings_apart(Bytes told, const CacheLevel& level) {
  return std::abs(std::log2(static_cast<double>(level.bytes) / told.si()));
}

}  // namespace

std::vector<ToldCache> match(std::span<const backend::DataCache> told,
                             std::span<const CacheLevel> measured) {
  std::vector<CacheLevel> left;
  std::copy_if(measured.begin(), measured.end(), std::back_inserter(left),
               [](const CacheLevel& level) { return level.bytes_high > level.bytes; });
  std::vector<ToldCache> all;
  all.reserve(told.size());
  for (const backend::DataCache& cache : told) {
    all.push_back({cache, 0});
    const auto nearest =
        std::min_element(left.begin(), left.end(), [&](const CacheLevel& a, const CacheLevel& b) {
          return doublings_apart(cache.size, a) < doublings_apart(cache.size, b);
        });
    if (nearest == left.end() || doublings_apart(cache.size, *nearest) > 1) continue;
    all.back().measured = nearest->bytes;
    left.erase(left.begin(), nearest + 1);
  }
  return all;
}

std::string comparison(std::span<const ToldCache> caches) {
  std::string text;
  for (const ToldCache& each : caches) {
    const std::string size = to_text(each.told.size);
    const std::string found =
        each.measured == 0 ? "not seen"
                           : "measured " + to_text(Bytes(static_cast<double>(each.measured)));
    text += fmt::format("{}L{} {} {}", text.empty() ? "" : ", ", each.told.level, size, found);
  }
  return text;
}

}  // namespace dlscale::bench
