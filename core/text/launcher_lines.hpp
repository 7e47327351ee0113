#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace dlscale {

/// A line of a log as the program printed it.
struct LauncherLine {
  std::size_t number = 0;  ///< from 1
  std::string source;      ///< label of the process that printed it, such as "0"; empty: none
  std::string text;        ///< without the prefixes, escape sequences and control characters
};

/// Reads a log of one or more processes line by line. Drops what stands before the program's own
/// text:
/// - labels of processes: srun --label ("0: ", " 0: "), -l and -prepend-rank of MPICH and Intel MPI
///   ("[0] "), Open MPI ("[1,0]<stdout>:", "[job@1,0][host:12]<stderr>: "), torchrun
///   ("[default0]:"), kubectl --prefix ("[pod/a/b] "), docker compose ("name-1  | "), pdsh
///   ("node1: "), Ray ("(train pid=12) "), syslog ("host program[12]: ");
/// - times: of ISO 8601 (kubectl --timestamps, GitHub, GitLab, CRI), of ctime (Open MPI, ts,
///   syslog), of the clock, and in seconds;
/// - marks of a quotation ("> ").
/// Drops escape sequences of terminals, and zero bytes. A carriage return ends a line, too: what
/// follows has the same number. No-break spaces become blanks.
class LauncherLines {
 public:
  explicit LauncherLines(std::string_view log) : rest_(log) {}

  /// The next line; false at the end.
  bool next(LauncherLine& line);

 private:
  std::string_view rest_;
  std::size_t number_ = 0;
  bool continues_ = false;  ///< the next piece belongs to the line of the last
};

}  // namespace dlscale
