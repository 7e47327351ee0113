#include "backend/comm/together.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "core/base/interrupt.hpp"

namespace dlscale::backend {
namespace {

/// A message for the exchange between ranks; longer ones are truncated. All zeros: none.
using Text = std::array<char, 1024>;

/// Gathers one value from every rank.
template <class T>
std::vector<T> all_gather(Communicator& communicator, const T& mine) {
  std::vector<T> all(communicator.size());
  communicator.all_gather(std::as_bytes(std::span(&mine, 1)),
                          std::as_writable_bytes(std::span(all)));
  return all;
}

Text text_of(const std::exception_ptr& failure) {
  Text text{};
  const auto write = [&text](std::string_view message) {
    std::ranges::copy(message.substr(0, text.size() - 1), text.begin());
  };
  if (!failure) return text;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& error) {
    write(error.what());
  } catch (...) {
    write("an error without a message");
  }
  return text;
}

/// Message of an exception that has one; the program has a message for others, such as exhausted
/// memory.
Text sentence_of(const std::exception_ptr& failure) {
  if (!failure) return {};
  try {
    std::rethrow_exception(failure);
  } catch (const Error&) {
    return text_of(failure);
  } catch (...) {
    return {};
  }
}

/// The exception thrown by `work`; null without one.
std::exception_ptr failure_of(const std::function<void()>& work) {
  try {
    work();
  } catch (...) {
    return std::current_exception();
  }
  return nullptr;
}

/// Rethrows a failure that all ranks know of. It leaves them in step, so a LibraryError becomes an
/// Error.
[[noreturn]] void throw_told(const std::exception_ptr& mine) {
  try {
    std::rethrow_exception(mine);
  } catch (const LibraryError& error) {
    throw Error(error.code(), error.what());
  }
}

/// Cause from the first failed rank. Collective.
std::string first_cause(Communicator& communicator, const std::exception_ptr& mine) {
  const std::vector<Text> all = all_gather(communicator, text_of(mine));
  const auto first = std::ranges::find_if(all, [](const Text& text) { return text[0] != 0; });
  if (first == all.end()) return "another rank stopped with an error";
  return fmt::format("on rank {}: {}", first - all.begin(), first->data());
}

}  // namespace

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

Ending agree(Communicator& communicator, const std::exception_ptr& mine) {
  using Signs = std::array<std::int32_t, 2>;
  Ending worst;
  for (const auto& [exit_code, signal] :
       all_gather(communicator, Signs{exit_code_of(mine), pending_signal()})) {
    worst.exit_code = std::max(worst.exit_code, exit_code);
    worst.signal = std::max(worst.signal, signal);
  }
  if (worst.exit_code != 0) worst.cause = first_cause(communicator, mine);
  return worst;
}

void throw_if_ended(const Ending& ending, const std::exception_ptr& mine) {
  if (mine) throw_told(mine);
  if (ending.signal != 0) {
    // Another rank's signal: this rank stops because of it, not because of an error.
    follow_signal(ending.signal);
    throw Interrupted(ending.signal);
  }
  const auto code = static_cast<ExitCode>(ending.exit_code);
  if (code == ExitCode::ok) return;
  if (code == ExitCode::not_built) throw Unsupported(ending.cause);
  throw Error(code, ending.cause);
}

void together(Communicator& communicator, const std::function<void()>& work) {
  const std::exception_ptr mine = failure_of(work);
  throw_if_ended(agree(communicator, mine), mine);
}

void together_on_input(Communicator& communicator, const std::function<void()>& work) {
  const std::exception_ptr mine = failure_of(work);
  const Ending ending = agree(communicator, mine);
  if (ending.exit_code != 0 && communicator.size() > 1) {
    const std::vector<Text> all = all_gather(communicator, sentence_of(mine));
    const bool alike = std::ranges::all_of(
        all, [&](const Text& text) { return text[0] != 0 && text == all.front(); });
    if (alike) throw FoundByAll(static_cast<ExitCode>(ending.exit_code), all.front().data());
  }
  throw_if_ended(ending, mine);
}

void on_first_rank(Communicator& communicator, const std::function<void()>& work) {
  const std::exception_ptr mine = communicator.rank() == 0 ? failure_of(work) : nullptr;
  if (communicator.size() == 1) {
    if (mine) std::rethrow_exception(mine);
    return;
  }
  std::int32_t exit_code = exit_code_of(mine);
  Text text = text_of(mine);
  communicator.broadcast(std::as_writable_bytes(std::span(&exit_code, 1)), 0);
  communicator.broadcast(std::as_writable_bytes(std::span(text)), 0);
  if (exit_code != 0) throw FoundByAll(static_cast<ExitCode>(exit_code), text.data());
}

}  // namespace dlscale::backend
