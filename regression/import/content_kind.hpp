#pragma once
#include <filesystem>
#include <iosfwd>

namespace dlscale::report::history {

/// What a file of measurements is. It is told by its content, and nowhere else than here.
enum class ContentKind {
  result,            ///< result file of dlscale: schema "dlscale.result" in the first line
  validation,        ///< schema "dlscale.validation"
  google_benchmark,  ///< JSON with "context" and "benchmarks"
  hyperfine,         ///< JSON whose "results" are a list
  nccl_tests,        ///< text with its headings
  mllog,             ///< text with :::MLLOG
  unknown
};

/// Of JSON no more is read than tells it. Damaged JSON is of the kind that its beginning calls for,
/// whose reader has the line.
ContentKind kind_of_content(std::istream& content);

/// `unknown` for what is no regular file or cannot be read. Looks into gzip; throws ConfigError
/// where that is damaged.
ContentKind kind_of_file(const std::filesystem::path& path);

}  // namespace dlscale::report::history
