#pragma once
#include <iosfwd>

namespace dlscale::report::format {

/// Whether a text is Bencher Metric Format (https://bencher.dev/bmf.json) and no more: benchmarks
/// with measures, each with a "value" and at most a "lower_value" and an "upper_value", all of them
/// numbers. Which program wrote it, and of what, such a file has no place to say. Reads no further
/// than what is not.
bool is_bencher_metrics(std::istream& content);

}  // namespace dlscale::report::format
