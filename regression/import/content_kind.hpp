#pragma once
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace dlscale::regression::history {

/// Kind of a file of measurements. Only its content decides, and only here.
enum class ContentKind {
  result,            ///< result file of dlscale: schema "dlscale.result" in the first line
  validation,        ///< schema "dlscale.validation"
  google_benchmark,  ///< JSON with a list "benchmarks" whose rows have no parts of their own
  hyperfine,         ///< JSON with a list "results" of commands
  nccl_tests,        ///< text with its headings
  osu,               ///< text with a title "# OSU … Test"
  mllog,             ///< text with :::MLLOG
  unknown
};

/// Where a file has its measurements.
struct Content {
  ContentKind kind = ContentKind::unknown;
  std::size_t begin = 0;     ///< of its JSON; other text may stand before that
  bool is_labelled = false;  ///< a launcher labels each line; `begin` is of unlabelled()
};

/// Reads only as much JSON as identifies the kind, whatever the order of its keys. Damaged JSON
/// gets the kind that its beginning suggests; the reader of that kind reports the line. JSON of
/// Google Benchmark and hyperfine may begin in any line.
Content find_content(std::string_view content);
ContentKind kind_of_content(std::string_view content);

/// The text that a log of containers in JSON holds if that is of a known kind; empty otherwise.
std::string unwrapped(std::string_view content);

/// Printed JSON without the labels of a launcher, line for line. Throws ConfigError if several
/// processes printed such documents.
std::string unlabelled(std::string_view content);

/// Programs whose measurements a file of another kind holds, too: "nccl-tests". The file counts as
/// `kind` alone.
std::vector<std::string_view> other_programs_in(std::string_view content, ContentKind kind);

/// `unknown` if it is not a regular file or cannot be opened. Throws ConfigError as read_input()
/// does, such as for damaged gzip.
ContentKind kind_of_file(const std::filesystem::path& path);

/// Program that wrote a file which is not one of dlscale, for messages: "hyperfine", "JMH", "a
/// table in CSV". Empty if nothing names it.
std::string_view program_that_wrote(std::string_view content);

}  // namespace dlscale::regression::history
