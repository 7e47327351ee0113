#pragma once
#include <iosfwd>
#include <string>

#include "report/format/format.hpp"
#include "report/format/kind_of.hpp"

namespace dlscale::report::format {

/// The document as a file of its own: tables for people end with a line that names the kind, a
/// comment in Markdown, by which is_of_kind() knows the file again.
std::string file_text(const Format& format, const Document& document);

/// Whether a file holds a document of this kind: JSON of the schema, CSV with the columns of the
/// records, JUnit XML or OpenMetrics that name it, or tables that file_text() made. A text that
/// only quotes one does not.
bool is_of_kind(std::istream& content, const Document& document);

/// Whether a file that holds this may become the document in a format: it is of the same kind, or
/// both are Bencher Metric Format, which has no place to say of what kind it is.
bool may_replace(std::istream& content, const Document& document, const Format& format);

}  // namespace dlscale::report::format
