#pragma once
#include <map>
#include <span>
#include <string>
#include <vector>

#include "core/results/measurement.hpp"

namespace dlscale::report {

/// The parameters of one measurement, name → value as text.
using Axes = std::map<std::string, std::string>;

/// The value of an axis, or "".
std::string axis_or_empty(const Axes& axes, const std::string& name);
std::string axis_or_empty(const Measurement& measurement, const std::string& name);

/// Names of the axes that vary, sorted.
std::vector<std::string> varying_axes(std::span<const Axes> all);

/// "batch=8, dtype=f32": the axes that are the same in all.
std::string constant_axes(std::span<const Axes> all);

/// Whether a text is a plain number, for alignment and order.
bool is_number(const std::string& text);

/// Whether axis values are in order: numbers by value, all others alphabetically.
bool in_order(const std::string& a, const std::string& b);

}  // namespace dlscale::report
