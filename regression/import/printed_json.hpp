#pragma once
#include <string>
#include <string_view>

namespace dlscale::regression::history {

/// Rewrites JSON as the versions of Google Benchmark print it into strict JSON:
/// - null replaces numbers that JSON lacks (RFC 8259, section 6), such as NaN, inf and 1.#INF;
/// - a percentage, "rms": 12%, loses its sign (google/benchmark issue 300);
/// - strings get the escapes of quotes, backslashes and control characters that they lack (issues
///   745 and 2299);
/// - a comma that is missing at the end of a line is added (issue 1181);
/// - a user counter called like a key of its row gets another name, since a parser keeps only the
///   last of two equal keys.
/// Other JSON and all line numbers stay as they are.
std::string strict_json(std::string_view text);

}  // namespace dlscale::regression::history
