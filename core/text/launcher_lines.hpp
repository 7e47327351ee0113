#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

namespace re2 {
class RE2;
}  // namespace re2

namespace dlscale {

/// A line of a log as the program printed it.
struct LauncherLine {
  std::size_t number = 0;  ///< from 1
  std::string source;      ///< label of the process that printed it, such as "0"; empty: none
  std::string text;        ///< without the prefixes, escape sequences and control characters
};

/// Reads a log of one or more processes line by line. Drops what stands before the program's own
/// text:
/// - labels of processes: srun --label ("0: ", " 0: ", "0:"), -l and -prepend-rank of MPICH and
///   Intel MPI ("[0] "), Open MPI ("[1,0]<stdout>:", "[job@1,0][host:12]<stderr>: "), aprun
///   ("[NID 00012] "), torchrun ("[default0]:"), kubectl --prefix ("[pod/a/b] "), docker compose
///   ("name-1  | "), pdsh and clush ("node1: ", "node[1-2]: "), Ray ("(train pid=12) "), syslog
///   ("host program[12]: ");
/// - times: of ISO 8601 (kubectl --timestamps, GitHub, GitLab, CRI), of ctime (Open MPI, ts,
///   syslog), of the clock, and in seconds;
/// - names of files and numbers of lines (grep -n, cat -n, editors), marks of a quotation ("> ");
/// - any other text that is alike, but for its numbers, before all comments ("#") of the log. If
///   these are only two, half of the other lines must begin with it.
/// Drops escape sequences of terminals, zero bytes, and letters without width. A carriage return
/// ends a line, too: what follows has the same number. Blanks of any width become blanks.
class LauncherLines {
 public:
  explicit LauncherLines(std::string_view log);

  /// The next line; false at the end.
  bool next(LauncherLine& line);

 private:
  /// Drops the prefixes that are known; false at the end.
  bool next_of_known(LauncherLine& line);
  /// Lines without a comment that begin with the pattern.
  [[nodiscard]] std::size_t others_beginning(const std::string& pattern) const;

  std::string_view rest_;
  bool has_line_numbers_ = false;                ///< each line begins with its number
  std::shared_ptr<const re2::RE2> tight_label_;  ///< a label that no blank follows
  std::size_t number_ = 0;
  bool continues_ = false;                      ///< the next piece belongs to the line of the last
  bool lines_are_numbered_ = false;             ///< the last number of a label is that of a line
  std::shared_ptr<const re2::RE2> own_prefix_;  ///< text before all comments
  bool own_prefix_is_label_ = false;
};

}  // namespace dlscale
