#pragma once
#include <exception>
#include <functional>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {

/// Outcome of a collective step, from the worst rank.
struct JointEnd {
  int signal = 0;                               ///< received on any rank, or 0
  enum class Answer { right, wrong } answer{};  ///< wrong: some rank threw WrongResult
  std::string reason;  ///< reason of a wrong answer, from the first rank that has one
  [[nodiscard]] bool may_go_on() const { return signal == 0 && answer == Answer::right; }
};

/// Runs `work` on this rank and shares its outcome, so that no rank continues alone. An exception
/// of `work` must leave the ranks in step, unless leaves_ranks_apart() holds for it: that one is
/// rethrown at once, without a message to the others. Exceptions of this rank other than
/// WrongResult are rethrown; if only another rank had one, throws as throw_if_ended() does.
/// Collective: one small all-reduce, more only after a failure.
JointEnd run_jointly(backend::Communicator& communicator, const std::function<void()>& work);

}  // namespace dlscale::bench
