#pragma once
#include <string>
#include <string_view>

namespace dlscale::report::history {

/// What stands in place of NaN, Infinity and -Infinity, which JSON lacks (RFC 8259, section 6) and
/// programs write all the same: Google Benchmark (FormatKV in src/json_reporter.cc), and whatever
/// writes by Python's json module.
enum class BareNumber {
  null,   ///< null, as what JSON has for no number
  quoted  ///< the word in quotes, where null means something else
};

/// The same text in strict JSON. Strings stay as they are, and lines where they are.
std::string strict_json(std::string_view text, BareNumber becomes);

}  // namespace dlscale::report::history
