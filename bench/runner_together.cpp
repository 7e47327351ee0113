#include "bench/runner_together.hpp"

#include <algorithm>
#include <span>
#include <vector>

#include "core/error.hpp"
#include "core/interrupt.hpp"

namespace dlscale::bench {
namespace {

std::int32_t exit_code_of(const std::exception_ptr& failure) {
  if (!failure) return 0;
  try {
    std::rethrow_exception(failure);
  } catch (const Error& error) {
    return static_cast<std::int32_t>(error.code());
  } catch (...) {
    return static_cast<std::int32_t>(ExitCode::wrong_result);
  }
}

}  // namespace

Ending agree(backend::Communicator& communicator, const std::exception_ptr& mine) {
  const Ending ending{exit_code_of(mine), pending_signal()};
  std::vector<Ending> all(communicator.size());
  communicator.all_gather(std::as_bytes(std::span(&ending, 1)),
                          std::as_writable_bytes(std::span(all)));
  Ending worst;
  for (const Ending& other : all) {
    worst.exit_code = std::max(worst.exit_code, other.exit_code);
    worst.signal = std::max(worst.signal, other.signal);
  }
  return worst;
}

void throw_if_ended(const Ending& ending, const std::exception_ptr& mine) {
  if (mine) std::rethrow_exception(mine);
  if (ending.signal != 0) throw Interrupted(ending.signal);
  if (ending.exit_code != 0) {
    throw Error(static_cast<ExitCode>(ending.exit_code),
                "another rank stopped with an error; its message says why");
  }
}

void together(backend::Communicator& communicator, const std::function<void()>& work) {
  std::exception_ptr mine;
  try {
    work();
  } catch (...) {
    mine = std::current_exception();
  }
  throw_if_ended(agree(communicator, mine), mine);
}

}  // namespace dlscale::bench
