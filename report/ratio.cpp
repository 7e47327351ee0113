#include "report/ratio.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

Ratio from_repeats(const Repeats& a, const Repeats& b) {
  std::vector<double> differences;
  for (const double log_a : log_medians(a)) {
    for (const double log_b : log_medians(b)) differences.push_back(log_b - log_a);
  }
  std::ranges::sort(differences);
  const auto trim = static_cast<std::size_t>(
      mann_whitney_trim(static_cast<int>(a.size()), static_cast<int>(b.size())));
  return {std::exp(median(differences)), std::exp(differences[trim]),
          std::exp(differences[differences.size() - 1 - trim]),
          fmt::format("{} and {} repeats", a.size(), b.size())};
}

Ratio from_samples(const Repeats& a, const Repeats& b) {
  const std::vector<double> log_a = bootstrap_log_medians(a);
  std::vector<double> differences = bootstrap_log_medians(b);
  for (std::size_t i = 0; i < differences.size(); ++i) differences[i] -= log_a[i];
  const double value = std::log(median(pooled(b))) - std::log(median(pooled(a)));
  const double low = std::min(value, quantile(differences, 0.025));
  const double high = std::max(value, quantile(differences, 0.975));
  return {std::exp(value), std::exp(low), std::exp(high),
          fmt::format("bootstrap of {} and {} samples from {} and {} repeats", count(a), count(b),
                      a.size(), b.size())};
}

}  // namespace

Ratio ratio_of_medians(const Repeats& a, const Repeats& b) {
  EXPECT(count(a) > 0 && count(b) > 0);
  if (a.size() >= enough_repeats && b.size() >= enough_repeats) return from_repeats(a, b);
  if (count(a) >= enough_samples && count(b) >= enough_samples) return from_samples(a, b);
  const double value = median(pooled(b)) / median(pooled(a));
  return {value, value, value, ""};
}

int mann_whitney_trim(int n, int m) {
  EXPECT(n >= 4 && m >= 4);
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
  double total = 0;
  for (const double each : ways[n]) total += each;
  double below = 0;
  int trim = -1;
  while (below + ways[n][trim + 1] <= 0.025 * total) below += ways[n][++trim];
  return trim;
}

}  // namespace dlscale::report
