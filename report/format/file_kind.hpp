#pragma once
#include <iosfwd>
#include <string>

#include "report/format/format.hpp"

namespace dlscale::report::format {

/// The document as a file of its own. Tables for people end with a line that names the kind (a
/// comment in Markdown), by which is_of_kind() recognises the file.
std::string file_text(const Format& format, const Document& document);

/// Whether a file holds a document of this kind. Accepts JSON of the schema, CSV with the columns
/// of the records, JUnit XML or OpenMetrics that name it, and tables from file_text(). A text that
/// only quotes one does not count.
bool is_of_kind(std::istream& content, const Document& document);

/// Whether a text is Bencher Metric Format (https://bencher.dev/bmf.json) and nothing else:
/// benchmarks with measures. Each measure has a "value", and optionally a "lower_value" and an
/// "upper_value", all numbers. The format does not record its program or contents.
bool is_bencher_metrics(std::istream& content);

/// Whether the document in this format may overwrite a file with this content. The kinds agree, or
/// both are Bencher Metric Format, which cannot record its kind.
bool may_replace(std::istream& content, const Document& document, const Format& format);

}  // namespace dlscale::report::format
