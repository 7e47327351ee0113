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

}  // namespace dlscale::report::format
