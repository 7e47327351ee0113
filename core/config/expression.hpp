#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace dlscale {

/// Whole numbers by name, for expressions.
using NamedNumbers = std::map<std::string, int, std::less<>>;

/// Whether an expression can mean a number by this name: a letter or _, then letters, digits and _.
bool is_number_name(std::string_view name);

/// A whole number from +, -, *, /, parentheses, numbers and names, such as "4 * width". Quotients
/// must be whole. Throws ConfigError with a sentence that names no place, such as "7 / 2 is not
/// whole."
std::int64_t evaluate(std::string_view expression, const NamedNumbers& names);

}  // namespace dlscale
