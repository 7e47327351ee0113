#include "app/cli/number_sweep.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "app/cli/number_words.hpp"
#include "core/base/error.hpp"
#include "core/base/units.hpp"
#include "core/text/quantity_text.hpp"
#include "core/text/size_text.hpp"

namespace dlscale::app {
namespace {

constexpr int largest_count = std::numeric_limits<int>::max();

/// The problem with an item, as the end of a sentence that begins with the option.
struct Problem {
  std::string text;
};

/// The parts of "1..64:x2"; a single value has only `from`.
struct Sweep {
  std::string from;
  std::string to;
  std::string step;  ///< step including its sign, "x2" or "+8"
  bool is_range = false;
};

std::string trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

Sweep split(std::string_view item) {
  Sweep sweep;
  const auto dots = item.find("..");
  sweep.is_range = dots != std::string_view::npos;
  sweep.from = trimmed(item.substr(0, dots));
  if (!sweep.is_range) return sweep;
  const std::string_view rest = item.substr(dots + 2);
  const auto colon = rest.find(':');
  sweep.to = trimmed(rest.substr(0, colon));
  if (colon != std::string_view::npos) sweep.step = trimmed(rest.substr(colon + 1));
  if (colon != std::string_view::npos && sweep.step.empty()) {
    throw Problem{fmt::format("{} has no step; expected, for example, 1..64:x2 or 1..64:+8", item)};
  }
  return sweep;
}

/// Errors have the words of positive_count() in app/cli/option_values.hpp.
int read_count(const std::string& text) {
  if (text.empty())
    throw Problem{"a number is missing; expected, for example, 8, 1..8 or 1..64:x2"};
  if (std::string advice = advice_on_number(text, Numbers::several); !advice.empty()) {
    throw Problem{std::move(advice)};
  }
  const char* last = text.data() + text.size();
  double value = 1;  // stays if the text is out of range
  const auto [end, error] = std::from_chars(text.data(), last, value);
  if (error == std::errc::invalid_argument || end != last || !std::isfinite(value)) {
    throw Problem{fmt::format("{} is not a finite number above 0; expected, for example, 1", text)};
  }
  if (value <= 0)
    throw Problem{fmt::format("{} is not a number above 0. Write a larger one", text)};
  int count = 0;
  const auto [count_end, count_error] = std::from_chars(text.data(), last, count);
  if (count_error == std::errc() && count_end == last) return count;
  throw Problem{fmt::format("{} is not a whole number up to {}; expected, for example, 2", text,
                            largest_count)};
}

Problem backwards(std::string_view item, std::string_view from, std::string_view to) {
  return {fmt::format("{} ends before it begins. Write {}..{}", item, to, from)};
}

Problem too_many(std::string_view item) {
  return {fmt::format("{} stands for more than {} numbers. Take a larger step", item, most_swept)};
}

/// The step of a sweep: a factor ('x') or an increment ('+').
struct Step {
  bool multiplies = false;
  int by = 1;
};

Step read_step(std::string_view item, const std::string& text) {
  if (text.empty()) return {};
  Step step{text.front() == 'x', 0};
  if (text.front() != 'x' && text.front() != '+') {
    throw Problem{fmt::format(
        "{} has the step {}; expected, for example, x2 (times 2) or +8 (plus 8)", item, text)};
  }
  step.by = read_count(trimmed(std::string_view(text).substr(1)));
  if (step.multiplies && step.by < 2) {
    throw Problem{
        fmt::format("{} goes on by x{}, so it would never end. Write x2 or more", item, step.by)};
  }
  return step;
}

void add_counts(std::string_view item, std::vector<int>& counts) {
  const Sweep sweep = split(item);
  const int from = read_count(sweep.from);
  if (!sweep.is_range) {
    counts.push_back(from);
    return;
  }
  const int to = read_count(sweep.to);
  if (to < from) throw backwards(item, sweep.from, sweep.to);
  const Step step = read_step(item, sweep.step);
  if (!step.multiplies && (to - from) / step.by >= static_cast<int>(most_swept)) {
    throw too_many(item);
  }
  for (long long value = from; value <= to;) {
    counts.push_back(static_cast<int>(value));
    value = step.multiplies ? value * step.by : value + step.by;
  }
}

ConfigError of_option(std::string_view option, const Problem& problem) {
  return ConfigError(fmt::format("{}: {}.", option, problem.text));
}

void refuse_too_many(std::string_view option, std::size_t count) {
  if (count <= most_swept) return;
  throw ConfigError(
      fmt::format("{} stands for more than {} numbers, which is too many. Take larger "
                  "steps.",
                  option, most_swept));
}

}  // namespace

std::vector<int> swept_counts(std::string_view option, std::span<const std::string> items) {
  std::vector<int> counts;
  for (const std::string& item : items) {
    try {
      add_counts(item, counts);
    } catch (const Problem& problem) {
      throw of_option(option, problem);
    }
    refuse_too_many(option, counts.size());
  }
  std::set<int> met;
  for (const int count : counts) {
    if (met.insert(count).second) continue;
    throw ConfigError(
        fmt::format("{} names {} twice (both would say the same). Name it once.", option, count));
  }
  return counts;
}

CLI::Validator count_sweep() {
  const auto check = [](const std::string& item) -> std::string {
    try {
      std::vector<int> counts;
      add_counts(item, counts);
      return {};
    } catch (const Problem& problem) {
      return problem.text;
    }
  };
  return {check, ""};
}

namespace {

/// Formats quantities as texts that parse to the same values.
template <class Q>
std::string in_si(Q value);
template <>
std::string in_si(BytesPerSecond value) {
  return fmt::format("{} B/s", value.si());
}
template <>
std::string in_si(Seconds value) {
  return fmt::format("{} s", value.si());
}
template <>
std::string in_si(Bytes value) {
  return fmt::format("{} B", value.si());
}

template <class Q>
void add_quantities(std::string_view option, std::string_view item,
                    std::vector<std::string>& texts) {
  const Sweep sweep = split(item);
  if (sweep.from.empty()) throw Problem{"a value is missing. Write one at each side of a comma"};
  if (!sweep.is_range) {
    texts.push_back(sweep.from);
    return;
  }
  const Q from = parse_quantity<Q>(sweep.from, option);
  const Q to = parse_quantity<Q>(sweep.to, option);
  if (from <= Q()) {
    throw Problem{fmt::format("{} begins at {}, from which no factor leads on. Begin above 0", item,
                              sweep.from)};
  }
  if (to < from) throw backwards(item, sweep.from, sweep.to);
  const Step step = read_step(item, sweep.step.empty() ? "x2" : sweep.step);
  if (!step.multiplies) {
    throw Problem{fmt::format(
        "{} goes on by {}, which has no unit. Write a factor, such as x2, or the values themselves",
        item, sweep.step)};
  }
  // The tolerance keeps an end that rounding exceeds.
  for (Q value = from; value <= (1 + 1e-12) * to; value = static_cast<double>(step.by) * value) {
    texts.push_back(in_si(value));
  }
}

}  // namespace

template <class Q>
std::vector<std::string> swept_quantities(std::string_view option,
                                          std::span<const std::string> items) {
  refuse_commas_in_numbers(option, items);
  std::vector<std::string> texts;
  for (const std::string& item : items) {
    try {
      add_quantities<Q>(option, item, texts);
    } catch (const Problem& problem) {
      throw of_option(option, problem);
    }
    refuse_too_many(option, texts.size());
  }
  return texts;
}

template std::vector<std::string> swept_quantities<BytesPerSecond>(std::string_view,
                                                                   std::span<const std::string>);
template std::vector<std::string> swept_quantities<Seconds>(std::string_view,
                                                            std::span<const std::string>);
template std::vector<std::string> swept_quantities<Bytes>(std::string_view,
                                                          std::span<const std::string>);

}  // namespace dlscale::app
