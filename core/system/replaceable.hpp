#pragma once
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace dlscale {

/// An existing file may be replaced only by its own kind, because -o may be a typing error. Throws
/// ConfigError unless `is_own` accepts its content. A file that is missing, empty or not regular (a
/// device) passes. `kind` is the expected kind: "a result file".
void refuse_foreign_file(const std::filesystem::path& path, std::string_view kind,
                         const std::function<bool(std::istream& content)>& is_own);

/// Whether the content is JSON whose first key is "schema" with this value, as in documents and
/// lists of cells written by dlscale. In result files the key may be anywhere in the first line.
bool opens_with_schema(std::istream& content, std::string_view schema);
/// As above for a regular file, compressed with gzip or not; false if it cannot be read.
bool has_schema(const std::filesystem::path& path, std::string_view schema);

}  // namespace dlscale
