#include "core/parallel/plan_text.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "core/parallel/schedule/family.hpp"
#include "core/text/escape_for_terminal.hpp"
#include "core/text/numbers.hpp"
#include "core/text/suggest.hpp"
#include "core/text/words.hpp"

namespace dlscale::parallel {
namespace {

/// Separates the numbers or words of a list.
constexpr char in_list = '/';

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

template <class Number>
std::optional<Number> number_in(std::string_view text) {
  Number value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

int parse_integer(std::string_view text) {
  if (const auto value = number_in<int>(text)) return *value;
  if (number_in<double>(text) && text.find_first_not_of("+-0123456789") == std::string_view::npos) {
    throw ConfigError(fmt::format("\"{}\" is too large. Write a whole number up to 1000000.",
                                  escape_for_terminal(text)));
  }
  throw ConfigError(fmt::format("\"{}\" is not a whole number. Write, for example, 2.",
                                escape_for_terminal(text)));
}

double parse_bytes(std::string_view text) {
  if (const auto value = number_in<double>(text); value && *value >= 0 && *value <= 16) {
    return *value;
  }
  throw ConfigError(fmt::format(
      "\"{}\" is not a number of bytes of a parameter. Write one from 0 to 16, such as 4.",
      escape_for_terminal(text)));
}

bool parse_flag(std::string_view text) {
  if (text == "true" || text == "false") return text == "true";
  throw ConfigError(fmt::format("\"{}\" is neither true nor false. Write one of them.",
                                escape_for_terminal(text)));
}

AxisOrder parse_order(std::string_view text) {
  const std::vector<std::string_view> names = split(text, in_list);
  AxisOrder order{};
  if (names.size() != order.size()) {
    throw ConfigError(fmt::format(
        "\"{}\" names {} ax{}s. Name all {}, as in {}.", escape_for_terminal(text), names.size(),
        names.size() == 1 ? "i" : "e", order.size(), "tensor/context/branches/data/stages"));
  }
  std::ranges::transform(names, order.begin(), parse_axis);
  return order;
}

std::vector<int> parse_list(std::string_view text) {
  std::vector<int> values;
  for (const std::string_view number : split(text, in_list))
    values.push_back(parse_integer(number));
  return values;
}

std::string text_of(int value) {
  return std::to_string(value);
}
std::string text_of(const std::optional<int>& value) {
  return value ? std::to_string(*value) : "";
}
std::string text_of(const std::optional<double>& value) {
  return value ? exact(*value) : "";
}
std::string text_of(bool value) {
  return value ? "true" : "false";
}
std::string text_of(const std::optional<bool>& value) {
  return value ? text_of(*value) : "";
}
std::string text_of(const std::string& value) {
  return value;
}
std::string text_of(Recompute value) {
  return std::string(recompute_name(value));
}
std::string text_of(Optimizer value) {
  return std::string(optimizer_name(value));
}
std::string text_of(const std::vector<int>& values) {
  return fmt::format("{}", fmt::join(values, "/"));
}
std::string text_of(const AxisOrder& order) {
  std::vector<std::string_view> names;
  for (const Axis axis : order) names.push_back(axis_name(axis));
  return fmt::format("{}", fmt::join(names, "/"));
}

void parse_into(int& value, std::string_view text) {
  value = parse_integer(text);
}
void parse_into(std::optional<int>& value, std::string_view text) {
  value = parse_integer(text);
}
void parse_into(std::optional<double>& value, std::string_view text) {
  value = parse_bytes(text);
}
void parse_into(bool& value, std::string_view text) {
  value = parse_flag(text);
}
void parse_into(std::optional<bool>& value, std::string_view text) {
  value = parse_flag(text);
}
void parse_into(std::string& value, std::string_view text) {
  value = find_schedule(text).name;
}
void parse_into(Recompute& value, std::string_view text) {
  value = parse_recompute(text);
}
void parse_into(Optimizer& value, std::string_view text) {
  value = parse_word("kind of optimizer", text, all_optimizers, optimizer_name);
}
void parse_into(std::vector<int>& values, std::string_view text) {
  values = parse_list(text);
}
void parse_into(AxisOrder& order, std::string_view text) {
  order = parse_order(text);
}

/// A key of plans: how it is read and written.
struct Key {
  std::string_view name;
  void (*read)(ParallelPlan& plan, std::string_view text);
  std::string (*write)(const ParallelPlan& plan);  ///< empty: absent
};

template <auto Member>
constexpr Key key(std::string_view name) {
  return {name, [](ParallelPlan& plan, std::string_view text) { parse_into(plan.*Member, text); },
          [](const ParallelPlan& plan) { return text_of(plan.*Member); }};
}
template <auto Member>
constexpr Key bytes_key(std::string_view name) {
  return {name,
          [](ParallelPlan& plan, std::string_view text) { parse_into(plan.bytes.*Member, text); },
          [](const ParallelPlan& plan) { return text_of(plan.bytes.*Member); }};
}

constexpr std::array keys{key<&ParallelPlan::data>("data"),
                          key<&ParallelPlan::tensor>("tensor"),
                          key<&ParallelPlan::sequence_parallel>("sequence_parallel"),
                          key<&ParallelPlan::tensor_overlap>("tensor_overlap"),
                          key<&ParallelPlan::context>("context"),
                          key<&ParallelPlan::experts>("experts"),
                          key<&ParallelPlan::branches>("branches"),
                          key<&ParallelPlan::stages>("stages"),
                          key<&ParallelPlan::chunks>("chunks"),
                          key<&ParallelPlan::stage_layers>("stage_layers"),
                          key<&ParallelPlan::schedule>("schedule"),
                          key<&ParallelPlan::micro_batch>("micro_batch"),
                          key<&ParallelPlan::micro_batches>("micro_batches"),
                          key<&ParallelPlan::zero>("zero"),
                          key<&ParallelPlan::zero_group>("zero_group"),
                          key<&ParallelPlan::recompute>("recompute"),
                          key<&ParallelPlan::recompute_layers>("recompute_layers"),
                          key<&ParallelPlan::compile>("compile"),
                          key<&ParallelPlan::optimizer>("optimizer"),
                          bytes_key<&StateBytes::weights>("weight_bytes"),
                          bytes_key<&StateBytes::gradients>("gradient_bytes"),
                          bytes_key<&StateBytes::main_gradients>("main_gradient_bytes"),
                          bytes_key<&StateBytes::master>("master_bytes"),
                          bytes_key<&StateBytes::moments>("moment_bytes"),
                          key<&ParallelPlan::order>("order")};

constexpr auto key_names = [] {
  std::array<std::string_view, keys.size()> names{};
  std::ranges::transform(keys, names.begin(), &Key::name);
  return names;
}();

/// Reads the value of a key; errors begin with `where`.
void read_key(const Key& known, ParallelPlan& plan, std::string_view text,
              const std::string& where) {
  try {
    known.read(plan, text);
  } catch (const ConfigError& error) {
    throw ConfigError(where + ": " + error.what());
  }
}

const Key& find_key(std::string_view name) {
  const auto* const found = std::ranges::find(keys, name, &Key::name);
  if (found != keys.end()) return *found;
  const std::vector<std::string> names(key_names.begin(), key_names.end());
  throw ConfigError(fmt::format("The plan has \"{}\", which is not a key of plans. {}",
                                escape_for_terminal(name), suggestion(name, names)));
}

}  // namespace

ParallelPlan parse_plan(std::string_view text) {
  ParallelPlan plan;
  if (without_blanks(text).empty()) return plan;
  std::vector<const Key*> seen;
  for (const std::string_view item : split(text, ',')) {
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos) {
      throw ConfigError(
          fmt::format("The plan has \"{}\" without a value. Write pairs such as data=8,tensor=4.",
                      escape_for_terminal(without_blanks(item))));
    }
    const Key& known = find_key(without_blanks(item.substr(0, equals)));
    if (std::ranges::find(seen, &known) != seen.end()) {
      throw ConfigError(fmt::format("The plan has {} twice. Keep one.", known.name));
    }
    seen.push_back(&known);
    read_key(known, plan, without_blanks(item.substr(equals + 1)),
             fmt::format("The plan's {}", known.name));
  }
  return plan;
}

std::string to_text(const ParallelPlan& plan) {
  const ParallelPlan usual;
  std::vector<std::string> pairs;
  for (const Key& known : keys) {
    const std::string value = known.write(plan);
    if (value != known.write(usual)) pairs.push_back(fmt::format("{}={}", known.name, value));
  }
  return fmt::format("{}", fmt::join(pairs, ","));
}

ParallelPlan read_plan(const ConfigMap& map) {
  map.allow_only(key_names);
  ParallelPlan plan;
  for (const Key& known : keys) {
    if (!map.has(known.name)) continue;
    read_key(known, plan, fmt::format("{}", fmt::join(map.texts(known.name), "/")),
             map.where(known.name));
  }
  return plan;
}

}  // namespace dlscale::parallel
