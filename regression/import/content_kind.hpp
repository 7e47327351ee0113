#pragma once
#include <filesystem>
#include <string_view>

namespace dlscale::regression::history {

/// Kind of a file of measurements. Only its content decides, and only here.
enum class ContentKind {
  result,            ///< result file of dlscale: schema "dlscale.result" in the first line
  validation,        ///< schema "dlscale.validation"
  google_benchmark,  ///< JSON with "context" and "benchmarks"
  hyperfine,         ///< JSON whose "results" are a list
  nccl_tests,        ///< text with its headings
  osu,               ///< text with a title "# OSU … Test"
  mllog,             ///< text with :::MLLOG
  unknown
};

/// Reads only as much JSON as identifies the kind. Damaged JSON gets the kind that its beginning
/// suggests; the reader of that kind reports the line.
ContentKind kind_of_content(std::string_view content);

/// `unknown` if it is not a regular file or cannot be read. Decompresses gzip; throws ConfigError
/// if that is damaged.
ContentKind kind_of_file(const std::filesystem::path& path);

}  // namespace dlscale::regression::history
