#pragma once
#include <fmt/format.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

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

/// The value with that name. Throws ConfigError listing the names; `option` is the option that the
/// user wrote.
template <class Value>
const Value& value_of(std::string_view name, std::span<const Named<Value>> all,
                      std::string_view option) {
  std::vector<std::string> names;
  for (const Named<Value>& each : all) {
    if (each.name == name) return each.value;
    names.emplace_back(each.name);
  }
  throw ConfigError(
      fmt::format("{} names \"{}\" (there is none). {}", option, name, suggestion(name, names)));
}

}  // namespace dlscale::bench
