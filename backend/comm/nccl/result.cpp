#include "backend/comm/nccl/result.hpp"

#include <array>
#include <string_view>

#include <fmt/format.h>

namespace dlscale::backend::gpu_comm {
namespace {

struct Advice {
  int code;
  std::string_view text;
};

// Numbers and meanings: enum ncclResult_t of nccl.h, and "Types" in NCCL's documentation. This file
// does not include that header, so that its messages are tested without NCCL.
constexpr int system_error = 2;
constexpr int remote_error = 6;
constexpr std::array advices{
    Advice{1, "If another program uses this GPU, stop it; if its memory is full, use less."},
    Advice{system_error,
           "The system refused something or a connection broke, perhaps because another rank died. "
           "If /dev/shm is small or locked memory limited, raise it (ulimit -l)."},
    Advice{3, "This is a fault inside NCCL or of the memory; try another version of NCCL."},
    Advice{4, "This is a fault of dlscale, or the ranks run different versions of it."},
    Advice{5,
           "The ranks do not make the same calls, or NCCL_ variables in the environment exclude "
           "each other."},
    Advice{remote_error, "Another rank died or the network between the nodes failed."},
};

std::string_view advice_on(int code) {
  for (const Advice& advice : advices) {
    if (advice.code == code) return advice.text;
  }
  return "";
}

/// Joins NCCL's messages, which can have several lines.
std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = c == '\n' || c == '\r' || c == '\t' || c == ' ';
    if (!blank) line += c;
    if (blank && !line.empty() && line.back() != ' ') line += ' ';
  }
  while (!line.empty() && (line.back() == ' ' || line.back() == '.')) line.pop_back();
  return line;
}

}  // namespace

bool may_be_a_death(int code) {
  return code == system_error || code == remote_error;
}

LibraryError error_of(const Failure& failure) {
  const std::string detail = one_line(failure.detail);
  const std::string_view advice = advice_on(failure.code);
  return LibraryError(
      fmt::format("{} failed on rank {} with code {} ({}{}{}).{}{} NCCL_DEBUG=WARN in the "
                  "environment makes NCCL "
                  "print more.",
                  failure.call, failure.rank, failure.code, failure.text,
                  detail.empty() ? "" : ": ", detail, advice.empty() ? "" : " ", advice));
}

}  // namespace dlscale::backend::gpu_comm
