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
    const Bytes before = all[i - 1].told.size;
    for (const CacheLevel& level : left) {
      const Bytes size(static_cast<double>(level.bytes));
      if (size > before && size < all[i].told.size) all[i].part = level.bytes;
    }
  }
  return all;
}

double share_of_pages(double level, double larger_in_small, double larger_in_huge) {
  const double rise = larger_in_small - level;
  if (rise <= 0) return 0;
  return std::clamp((larger_in_small - larger_in_huge) / rise, 0.0, 1.0);
}

std::string comparison(std::span<const ToldCache> caches) {
  std::string text;
  for (const ToldCache& each : caches) {
    const std::string size = to_text(each.told.size);
    const std::size_t seen = std::max(each.measured, each.part);
    const std::string found = seen == 0
                                  ? "not seen"
                                  : fmt::format("{} {}", each.part > 0 ? "seen up to" : "measured",
                                                to_text(Bytes(static_cast<double>(seen))));
    text += fmt::format("{}L{} {} {}", text.empty() ? "" : ", ", each.told.level, size, found);
  }
  return text;
}

}  // namespace dlscale::bench
