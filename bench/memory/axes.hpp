#pragma once
#include <fmt/format.h>

#include <cstddef>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bench/engine/benchmark.hpp"
#include "core/base/error.hpp"
#include "core/text/suggest.hpp"

namespace dlscale::bench {

/// A value and the word for it on the command line and in the rows.
template <class Value>
struct Named {
  std::string_view name;
  Value value;
};

/// Requires that the value has a name.
template <class Value>
std::string_view name_of(Value value, std::span<const Named<Value>> all) {
  for (const Named<Value>& each : all) {
    if (each.value == value) return each.name;
  }
  fail_expectation("the value has a name");
}

/// The value with that name. Throws ConfigError listing the names; `axis` is the axis that names
/// it.
template <class Value>
const Value& value_of(std::string_view name, std::span<const Named<Value>> all,
                      std::string_view axis) {
  std::vector<std::string> names;
  for (const Named<Value>& each : all) {
    if (each.name == name) return each.value;
    names.emplace_back(each.name);
  }
  throw ConfigError(fmt::format("{} names \"{}\" (there is none). {}", option_name(axis), name,
                                suggestion(name, names)));
}

/// Sizes that a memory benchmark accepts, and the values of its size words.
struct SizeRule {
  std::size_t unit = 1;    ///< sizes are whole multiples of it
  std::size_t beyond = 0;  ///< value of "beyond_caches"; 0: not known here
};

/// The sizes that an axis lists, each once, ascending: quantities; "beyond_caches"; "sweep", which
/// doubles from 4 KiB to beyond_caches. Throws ConfigError.
std::vector<std::size_t> sizes_of(const Context& context, std::string_view axis,
                                  const SizeRule& rule);

/// Throws ConfigError unless `isa` is one of `words` or an instruction set that a build for this
/// kind of processor supports.
void check_isa(const std::string& isa, std::initializer_list<std::string_view> words);

/// An axis that affects only some operations of a benchmark.
struct AxisOfOperations {
  std::string_view name;
  std::vector<std::string_view> operations;
};

/// Throws ConfigError if an axis was given and none of the requested operations has it.
void refuse_axes_without_effect(const Context& context, const std::vector<AxisOfOperations>& axes);

}  // namespace dlscale::bench
