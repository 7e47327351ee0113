#include "core/system/openmp_settings.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "core/base/error.hpp"
#include "core/text/escape_for_terminal.hpp"

namespace dlscale {
namespace {

std::string_view without_blanks(std::string_view text) {
  constexpr std::string_view blanks = " \t\n\r";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), [](unsigned char c) { return std::tolower(c); });
  return small;
}

std::optional<std::uint64_t> whole_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Whether each part between commas passes; a list without parts does not.
bool is_list(std::string_view text, bool (*passes)(std::string_view)) {
  for (;;) {
    const std::size_t comma = text.find(',');
    if (!passes(without_blanks(text.substr(0, comma)))) return false;
    if (comma == std::string_view::npos) return true;
    text.remove_prefix(comma + 1);
  }
}

bool is_count(std::string_view text) {
  constexpr std::uint64_t most = 65536;  // more than any machine has
  const std::optional<std::uint64_t> count = whole_number(text);
  return count && *count >= 1 && *count <= most;
}

bool are_counts(std::string_view text) {
  return is_list(text, is_count);
}

bool is_limit(std::string_view text) {
  const std::optional<std::uint64_t> limit = whole_number(text);
  return limit && *limit >= 1 && *limit <= std::numeric_limits<std::int32_t>::max();
}

/// LLVM's limits of threads may also be all processors.
bool is_limit_or_all(std::string_view text) {
  return is_limit(text) || in_small_letters(text) == "all";
}

/// Bytes of a stack: a number and B, K, M, G or T, or a number in the unit of this letter.
std::optional<std::size_t> stack_bytes(std::string_view text, std::string_view without_unit) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const std::optional<std::uint64_t> number = whole_number(text.substr(0, digits));
  std::string unit = in_small_letters(without_blanks(text.substr(digits)));
  if (unit.size() == 2 && unit.back() == 'b') unit.pop_back();
  if (unit.empty()) unit = without_unit;
  const std::size_t power = std::string_view("bkmgt").find(unit);
  if (!number || unit.size() > 1 || power == std::string_view::npos) return std::nullopt;
  const std::size_t shift = 10 * power;
  if (*number == 0 || *number > std::numeric_limits<std::size_t>::max() >> shift)
    return std::nullopt;
  return static_cast<std::size_t>(*number) << shift;
}

/// Whether a thread with a stack of this size starts. Libraries raise sizes that are too small.
bool starts_thread(std::size_t bytes) {
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return true;
  constexpr std::size_t least = 64 * 1024;
  pthread_t thread{};
  const auto nothing = [](void*) -> void* { return nullptr; };
  const bool starts = pthread_attr_setstacksize(&attributes, std::max(bytes, least)) == 0 &&
                      pthread_create(&thread, &attributes, nothing, nullptr) == 0;
  if (starts) pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  return starts;
}

bool is_stack(std::string_view text) {
  const std::optional<std::size_t> bytes = stack_bytes(text, "k");
  return bytes && starts_thread(*bytes);
}

bool is_stack_in_bytes(std::string_view text) {
  const std::optional<std::size_t> bytes = stack_bytes(text, "b");
  return bytes && starts_thread(*bytes);
}

bool is_binding(std::string_view text) {
  const std::string word = in_small_letters(text);
  constexpr std::array words{"true", "false", "0", "1", "primary", "master", "close", "spread"};
  return std::ranges::find(words, word) != words.end();
}

bool are_bindings(std::string_view text) {
  return is_list(text, is_binding);
}

/// Whether it is a name, maybe with a number of places, or may be a list of places.
bool are_places(std::string_view text) {
  if (text.starts_with('{') || text.starts_with("!{"))
    return text.find('}') != std::string_view::npos;
  const std::size_t open = std::min(text.find('('), text.size());
  const std::string name = in_small_letters(without_blanks(text.substr(0, open)));
  constexpr std::array names{"threads", "cores",   "sockets", "ll_caches",  "numa_domains",
                             "dice",    "modules", "tiles",   "core_caches"};
  if (std::ranges::find(names, name) == names.end()) return false;
  if (open == text.size()) return true;
  return text.ends_with(')') &&
         is_count(without_blanks(text.substr(open + 1, text.size() - open - 2)));
}

/// Whether it may be a list of processors: "0 3 1-2 4-15:2".
bool are_processors(std::string_view text) {
  return text.find_first_of("0123456789") == 0 &&
         text.find_first_not_of("0123456789-:, \t") == std::string_view::npos;
}

/// A variable, the values that it takes, and how to say that.
struct Setting {
  const char* name;
  bool (*takes)(std::string_view);
  std::string_view values;
};

constexpr std::string_view a_stack = "a size that a thread gets here for its stack, such as 8M";
constexpr std::string_view a_limit = "a whole number above 0";
constexpr std::string_view a_limit_or_all = "a whole number above 0, or all";
constexpr std::array settings{
    Setting{"OMP_NUM_THREADS", are_counts,
            "a whole number from 1 to 65536, or several with commas between them"},
    Setting{"OMP_THREAD_LIMIT", is_limit, a_limit},
    Setting{"KMP_DEVICE_THREAD_LIMIT", is_limit_or_all, a_limit_or_all},
    Setting{"KMP_ALL_THREADS", is_limit_or_all, a_limit_or_all},
    Setting{"OMP_STACKSIZE", is_stack, a_stack},
    Setting{"GOMP_STACKSIZE", is_stack, a_stack},
    Setting{"KMP_STACKSIZE", is_stack_in_bytes, a_stack},
    Setting{"KMP_STACKOFFSET", is_stack_in_bytes, a_stack},
    Setting{"OMP_PROC_BIND", are_bindings, "true, false, primary, close or spread"},
    Setting{"OMP_PLACES", are_places, "threads, cores, sockets or a list such as {0,1},{2,3}"},
    Setting{"GOMP_CPU_AFFINITY", are_processors, "a list of processors such as 0-3"}};

}  // namespace

void check_openmp_settings(const ReadVariable& variable) {
  for (const Setting& setting : settings) {
    const char* const value = variable(setting.name);
    if (value == nullptr || setting.takes(without_blanks(value))) continue;
    throw ConfigError(fmt::format(
        "{} is \"{}\" (OpenMP takes {}, and may end or hang over other values). Correct it, or "
        "unset it.",
        setting.name, escape_for_terminal(value), setting.values));
  }
}

}  // namespace dlscale
