#pragma once
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string_view>

namespace dlscale {

/// A file that is there may be replaced only by its own kind: -o may be a slip of the pen. Throws
/// ConfigError unless `is_own` says so of its content; what is missing, empty or no regular file (a
/// device) passes. `kind` is what it should have been: "a result file".
void refuse_foreign_file(const std::filesystem::path& path, std::string_view kind,
                         const std::function<bool(std::istream& content)>& is_own);

/// Whether the content is JSON whose first key is "schema" and has this value, as in documents and
/// lists of cells that dlscale writes. In result files it stands anywhere in the first line.
bool opens_with_schema(std::istream& content, std::string_view schema);
/// The same of a regular file, compressed with gzip or not; false if it cannot be read.
bool has_schema(const std::filesystem::path& path, std::string_view schema);

}  // namespace dlscale
