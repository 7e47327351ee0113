#pragma once
#include <string>
#include <string_view>

namespace dlscale::report::history {

/// The same text in strict JSON: null in place of NaN, Infinity and -Infinity, which JSON lacks
/// (RFC 8259, section 6) and Google Benchmark writes all the same (FormatKV in
/// src/json_reporter.cc). Strings stay as they are, and lines where they are.
std::string strict_json(std::string_view text);

}  // namespace dlscale::report::history
