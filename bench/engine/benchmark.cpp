#include "bench/engine/benchmark.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <span>

#include "backend/host/host.hpp"
#include "core/base/error.hpp"
#include "core/results/usable_rows.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::bench {
namespace {

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

int parse_positive(std::string_view axis, std::string_view text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 1) {
    throw ConfigError(fmt::format(
        "{} is \"{}\" (not a whole number from 1 to 2147483647). Write, for example, \"{} 8\".",
        option_name(axis), text, option_name(axis)));
  }
  return value;
}

std::vector<std::string> axis_names(const Benchmark& benchmark) {
  std::vector<std::string> names;
  for (const Axis& axis : benchmark.axes) names.emplace_back(axis.name);
  return names;
}

}  // namespace

ExtraWork parse_extra_work(std::string_view text) {
  int percent = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  if (error != std::errc() || unit != "%" || percent < 0 || percent > 100) {
    throw ConfigError(fmt::format(
        "{} is \"{}\" (it is done in whole runs of a hundred). Write a whole number of percent "
        "from 0 to 100, such as 5%.",
        option_name(extra_work_axis), escape_for_terminal(text)));
  }
  return {.runs = 100 + percent, .counted = 100};
}

std::string extra_work_text(const ExtraWork& extra) {
  return fmt::format("{}%", extra.runs - extra.counted);
}

std::string option_name(std::string_view axis) {
  if (axis == "beside") return "--overlap-with";
  if (axis == "beside_work") return "--overlap-work";
  if (axis == "normalise") return "--normalize";
  std::string name = fmt::format("--{}", axis);
  std::ranges::replace(name, '_', '-');
  return name;
}

const std::string& Context::value(std::string_view axis) const {
  const auto found = values.find(std::string(axis));
  EXPECT(found != values.end());
  return found->second;
}

int Context::integer(std::string_view axis) const {
  if (value(axis).find(',') != std::string::npos) {
    throw ConfigError(fmt::format(
        "{} is \"{}\" (a list, where one number is taken). Name one, and measure each of "
        "the others by a command of its own.",
        option_name(axis), value(axis)));
  }
  return parse_positive(axis, trimmed(value(axis)));
}

std::vector<std::string> Context::list(std::string_view axis) const {
  const std::string& text = value(axis);
  std::vector<std::string> items;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    std::string item = trimmed(std::string_view(text).substr(begin, end - begin));
    if (item.empty()) {
      throw ConfigError(
          fmt::format("{} is \"{}\" (an item of the list is empty). Write items "
                      "with one comma between two of them.",
                      option_name(axis), text));
    }
    if (std::find(items.begin(), items.end(), item) != items.end()) {
      throw ConfigError(
          fmt::format("{} names {} twice (both would be the same measurement). "
                      "Name it once.",
                      option_name(axis), item));
    }
    items.push_back(std::move(item));
    begin = end + 1;
  }
  return items;
}

std::vector<int> Context::integers(std::string_view axis) const {
  std::vector<int> numbers;
  for (const std::string& item : list(axis)) numbers.push_back(parse_positive(axis, item));
  return numbers;
}

Context make_context(const Benchmark& benchmark, std::map<std::string, std::string> given,
                     backend::Communicator& communicator) {
  const std::vector<std::string> names = axis_names(benchmark);
  for (const auto& [name, value] : given) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    throw ConfigError(fmt::format("{} is not an axis of bench {}. {}", option_name(name),
                                  benchmark.name, suggestion(name, names)));
  }
  std::set<std::string> named;
  for (const auto& [name, value] : given) named.insert(name);
  for (const Axis& axis : benchmark.axes) {
    given.try_emplace(std::string(axis.name), axis.default_value);
  }
  if (benchmark.settle != nullptr) benchmark.settle(given, named);
  return {std::move(given), &communicator, std::move(named)};
}

void expect_few_threads(std::string_view option, int threads) {
  const std::size_t cores = backend::usable_cores().size();
  const std::size_t most = cores * most_threads_of_a_core;
  if (static_cast<std::size_t>(threads) <= most) return;
  throw ConfigError(fmt::format(
      "{} threads on {} usable core(s) are more than {} each, which would measure how the system "
      "takes turns. Give {} at most {}.",
      threads, cores, most_threads_of_a_core, option, most));
}

void expect_few_threads(const Context& context) {
  for (const char* axis : {"threads", "loader_threads"}) {
    if (!context.values.contains(axis)) continue;
    for (const int threads : context.integers(axis)) {
      expect_few_threads(option_name(axis), threads);
    }
  }
}

Measurement unsupported(const Unsupported& error) {
  Measurement measurement;
  measurement.status = Status::unsupported;
  measurement.reason = error.what();
  return measurement;
}

std::vector<std::vector<double>> gather_on_ranks(backend::Communicator& communicator,
                                                 const std::vector<double>& mine) {
  const auto ranks = static_cast<std::size_t>(communicator.size());
  std::vector<double> flat(ranks * mine.size());
  communicator.all_gather(std::as_bytes(std::span(mine)), std::as_writable_bytes(std::span(flat)));
  std::vector<std::vector<double>> all;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const auto theirs = std::span(flat).subspan(rank * mine.size(), mine.size());
    all.emplace_back(theirs.begin(), theirs.end());
  }
  return all;
}

double sum_of_ranks(backend::Communicator& communicator, double mine) {
  communicator.all_reduce(std::span(&mine, 1), backend::Reduction::sum);
  return mine;
}

}  // namespace dlscale::bench
