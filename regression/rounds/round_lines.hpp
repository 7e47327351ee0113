#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "regression/gate/round.hpp"

namespace dlscale::regression {

/// The file of rounds: {"schema": "dlscale.rounds", "version": 1, "question": …}, then a line for
/// each round.
struct RoundLines {
  std::optional<std::string> question;  ///< as JSON; absent: an empty file
  std::vector<Round> rounds;
  std::uint64_t whole_bytes = 0;  ///< bytes up to the end of the last complete line
};

/// Reads the file. An incomplete last line, as a crash or a full disk leaves it, is dropped. Throws
/// ConfigError naming `name` and the line for any other damage.
RoundLines parse_round_lines(std::string_view text, const std::string& name);

/// `question` is JSON.
std::string question_line(const std::string& question);
std::string round_line(const Round& round);

}  // namespace dlscale::regression
