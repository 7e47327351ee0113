#include "report/ratio.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <random>

#include <fmt/format.h>

#include "core/error.hpp"
#include "core/statistics.hpp"

namespace dlscale::report {
namespace {

constexpr std::size_t enough_repeats = 5;
constexpr std::size_t enough_samples = 5;
constexpr int draws = 1000;
constexpr std::uint64_t seed = 20240501;

std::size_t count(const Repeats& repeats) {
  std::size_t total = 0;
  for (const auto& samples : repeats) total += samples.size();
  return total;
}

std::vector<double> pooled(const Repeats& repeats) {
  std::vector<double> all;
  for (const auto& samples : repeats) all.insert(all.end(), samples.begin(), samples.end());
  return all;
}

std::vector<double> log_medians(const Repeats& repeats) {
  std::vector<double> medians;
  for (const auto& samples : repeats) medians.push_back(std::log(median(samples)));
  return medians;
}

/// Depends on the samples alone, so that A and B draw independently and each the same way on
/// whichever side it stands.
std::uint64_t seed_of(const Repeats& repeats) {
  std::uint64_t hash = seed;
  for (const auto& samples : repeats) {
    for (const double sample : samples) {
      hash = (hash ^ std::bit_cast<std::uint64_t>(sample)) * 0x100000001b3U;  // FNV-1a's prime
    }
  }
  return hash;
}

/// Not std::uniform_int_distribution, whose numbers differ between standard libraries.
std::size_t draw_below(std::mt19937_64& generator, std::size_t limit) {
  return static_cast<std::size_t>(generator() % limit);
}

/// Circular blocks of n^(1/3) successive samples keep most of their correlation
/// (Politis & Romano 1992; Hall, Horowitz & Jing 1995 for the exponent).
void append_blocks(const std::vector<double>& samples, std::mt19937_64& generator,
                   std::vector<double>& out) {
  const std::size_t n = samples.size();
  const auto block = static_cast<std::size_t>(std::ceil(std::cbrt(static_cast<double>(n))));
  for (std::size_t taken = 0; taken < n;) {
    const std::size_t start = draw_below(generator, n);
    for (std::size_t i = 0; i < block && taken < n; ++i, ++taken) {
      out.push_back(samples[(start + i) % n]);
    }
  }
}

std::vector<double> bootstrap_log_medians(const Repeats& repeats) {
  std::mt19937_64 generator(seed_of(repeats));
  std::vector<double> medians;
  for (int i = 0; i < draws; ++i) {
    std::vector<double> drawn;
    for (std::size_t k = 0; k < repeats.size(); ++k) {
      append_blocks(repeats[draw_below(generator, repeats.size())], generator, drawn);
    }
    medians.push_back(std::log(median(drawn)));
  }
  return medians;
}

/// How many arrangements of n and m values have Mann-Whitney's U = 0, 1, …
std::vector<double> mann_whitney_ways(int n, int m) {
  // ways[i][u]: arrangements of i first and j second values with U = u, for j = 0 … m in turn.
  const int top = n * m;
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(top + 1, 0));
  for (auto& row : ways) row[0] = 1;
  for (int j = 1; j <= m; ++j) {
    for (int i = 1; i <= n; ++i) {
      for (int u = top; u >= 0; --u) {
        ways[i][u] += u >= j ? ways[i - 1][u - j] : 0;
      }
    }
  }
  return ways[n];
}

double total(const std::vector<double>& ways) {
  return std::accumulate(ways.begin(), ways.end(), 0.0);
}

int trim_of(const std::vector<double>& ways) {
  const double most = 0.025 * total(ways);
  double below = 0;
  int trim = -1;
  while (below + ways[trim + 1] <= most) below += ways[++trim];
  return trim;
}

/// P(U ≤ u).
double share_up_to(const std::vector<double>& ways, std::ptrdiff_t u) {
  return std::accumulate(ways.begin(), ways.begin() + u + 1, 0.0) / total(ways);
}

/// How many of the logarithms are not above a limit, and not below its opposite.
std::ptrdiff_t not_above(const std::vector<double>& differences, double limit) {
  return std::ranges::count_if(differences, [limit](double each) { return each <= limit; });
}
std::ptrdiff_t not_below(const std::vector<double>& differences, double limit) {
  return std::ranges::count_if(differences, [limit](double each) { return each >= -limit; });
}

Ratio from_repeats(const Repeats& a, const Repeats& b, double limit) {
  std::vector<double> differences;
  for (const double log_a : log_medians(a)) {
    for (const double log_b : log_medians(b)) differences.push_back(log_b - log_a);
  }
  std::ranges::sort(differences);
  const std::vector<double> ways =
      mann_whitney_ways(static_cast<int>(a.size()), static_cast<int>(b.size()));
  const auto trim = static_cast<std::size_t>(trim_of(ways));
  return {std::exp(median(differences)),
          std::exp(differences[trim]),
          std::exp(differences[differences.size() - 1 - trim]),
          fmt::format("{} and {} repeats", a.size(), b.size()),
          share_up_to(ways, not_above(differences, limit)),
          share_up_to(ways, not_below(differences, limit))};
}

Ratio from_samples(const Repeats& a, const Repeats& b, double limit) {
  const std::vector<double> log_a = bootstrap_log_medians(a);
  std::vector<double> differences = bootstrap_log_medians(b);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= log_a[i];
  const double value = std::log(median(pooled(b))) - std::log(median(pooled(a)));
  const double low = std::min(value, quantile(differences, 0.025));
  const double high = std::max(value, quantile(differences, 0.975));
  const auto share = [](std::ptrdiff_t count) {
    return static_cast<double>(std::max<std::ptrdiff_t>(count, 1)) / draws;
  };
  return {std::exp(value),
          std::exp(low),
          std::exp(high),
          fmt::format("bootstrap of {} and {} samples from {} and {} repeats", count(a), count(b),
                      a.size(), b.size()),
          share(not_above(differences, limit)),
          share(not_below(differences, limit))};
}

}  // namespace

Ratio ratio_of_medians(const Repeats& a, const Repeats& b, double margin) {
  EXPECT(count(a) > 0 && count(b) > 0 && margin >= 0);
  const double limit = std::log1p(margin);
  if (a.size() >= enough_repeats && b.size() >= enough_repeats) return from_repeats(a, b, limit);
  if (count(a) >= enough_samples && count(b) >= enough_samples) return from_samples(a, b, limit);
  const double value = median(pooled(b)) / median(pooled(a));
  return {value, value, value, "", 1, 1};
}

int mann_whitney_trim(int n, int m) {
  EXPECT(n >= 4 && m >= 4);
  return trim_of(mann_whitney_ways(n, m));
}

}  // namespace dlscale::report
