#pragma once
#include <iosfwd>

namespace dlscale::report::format {

/// Whether a text is Bencher Metric Format (https://bencher.dev/bmf.json) and nothing else:
/// benchmarks with measures. Each measure has a "value", and optionally a "lower_value" and an
/// "upper_value", all numbers. The format does not record its program or contents.
bool is_bencher_metrics(std::istream& content);

}  // namespace dlscale::report::format
