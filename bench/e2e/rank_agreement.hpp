#pragma once
#include <cstdint>
#include <exception>
#include <functional>
#include <span>
#include <string>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"
#include "train/engine/program.hpp"

namespace dlscale::bench {

/// Outcome of a collective step, from the worst rank.
struct JointEnd {
  int signal = 0;                               ///< received on any rank, or 0
  enum class Answer { right, wrong } answer{};  ///< wrong: some rank threw WrongResult
  std::string reason;  ///< reason of a wrong answer, from the first rank that has one
  [[nodiscard]] bool may_go_on() const { return signal == 0 && answer == Answer::right; }
};

/// Runs `work` on this rank and shares its outcome, so that no rank continues alone. An exception
/// of `work` must leave the ranks in step, unless is_collective_failure() holds for it: that one is
/// rethrown at once, without a message to the others. Exceptions of this rank other than
/// WrongResult are rethrown; if only another rank had one, throws as throw_if_ended() does.
/// Collective: one small all-reduce, more only after a failure.
JointEnd run_jointly(backend::Communicator& communicator, const std::function<void()>& work);

/// Describes the ranks whose parameters differ from the rest, given each rank's checksum; empty if
/// all are equal. Without a majority, as for two ranks, it names all.
std::string difference(std::span<const std::uint64_t> checksums);

/// Checks the invariant of synchronous SGD: after an iteration all ranks have bitwise equal
/// parameters, as they began equal and added the same sums. Describes ranks that differ, as
/// difference() does. It compares only the master values, from which all copies follow. Collective.
/// Call it when no training step or message is in flight (Trainer::settle()).
std::string parameter_difference(backend::Communicator& communicator, train::Program& program);

}  // namespace dlscale::bench
