#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <map>
#include <optional>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "core/error.hpp"
#include "core/shown_text.hpp"
#include "core/statistics.hpp"
#include "report/history/imports.hpp"

namespace dlscale::report::history {
namespace {

constexpr std::string_view elapsed = "elapsed time per iteration (ms):";
constexpr std::string_view throughput = "throughput per GPU (TFLOP/s/GPU):";
constexpr std::string_view batch = "global batch size:";

/// The text between a label and the next bar.
std::optional<std::string> text_after(std::string_view line, std::string_view label) {
  const std::size_t at = line.find(label);
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view rest = line.substr(at + label.size());
  rest = rest.substr(0, rest.find('|'));
  const std::size_t first = rest.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return "";
  return std::string(rest.substr(first, rest.find_last_not_of(" \t\r") - first + 1));
}

std::optional<double> number_after(std::string_view line, std::string_view label) {
  const auto text = text_after(line, label);
  if (!text) return std::nullopt;
  double value = 0;
  const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), value);
  if (error != std::errc{} || end != text->data() + text->size() || !std::isfinite(value) ||
      value <= 0) {
    throw ConfigError(
        fmt::format("\"{}\" after \"{}\" is no number above 0", shown_text(*text), label));
  }
  return value;
}

/// What the lines of one size of batch said.
struct Logged {
  std::vector<double> times;
  std::vector<double> rates;
};

void add(ImportedRun& run, SeriesKey key, const char* metric, const char* unit, Better better,
         const std::vector<double>& samples) {
  if (samples.empty()) return;
  key.metric = metric;
  key.unit = unit;
  key.better = better;
  Point point;
  point.summary = summarize(samples);
  run.points.push_back({std::move(key), std::move(point)});
}

}  // namespace

Origin add_megatron(ImportedRun& run) {
  std::map<std::string, Logged> logged;  // by size of the batch, which may grow while training
  std::istringstream lines(run.content);
  std::size_t number = 0;
  bool first = true;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    try {
      const auto time = number_after(line, elapsed);
      if (!time) continue;
      if (std::exchange(first, false)) continue;
      Logged& of_batch = logged[text_after(line, batch).value_or("")];
      of_batch.times.push_back(1e-3 * *time);
      if (const auto rate = number_after(line, throughput)) of_batch.rates.push_back(1e12 * *rate);
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("line {}: {}", number, error.what()));
    }
  }
  if (logged.empty()) {
    throw ConfigError("it has fewer than two lines of iterations, of which the first warms up");
  }
  for (const auto& [size, samples] : logged) {
    SeriesKey key;
    key.suite = "Megatron";
    if (!size.empty()) key.axes["global batch size"] = size;
    add(run, key, "iteration", "s", Better::smaller, samples.times);
    add(run, key, "throughput per GPU", "FLOP/s", Better::larger, samples.rates);
  }
  return {};
}

}  // namespace dlscale::report::history
