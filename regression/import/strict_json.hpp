#pragma once
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace dlscale::report::history {

/// Rewrites the text as strict JSON: null replaces NaN, Infinity and -Infinity. JSON lacks these
/// (RFC 8259, section 6), but Google Benchmark writes them (FormatKV in src/json_reporter.cc).
/// Strings and line numbers stay as they are.
std::string strict_json(std::string_view text);

/// A value as text: a string without its quotation marks, anything else as JSON.
std::string value_text(const nlohmann::json& value);

}  // namespace dlscale::report::history
