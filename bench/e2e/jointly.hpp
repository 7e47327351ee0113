#pragma once
#include <exception>
#include <functional>

#include "backend/comm/communicator.hpp"
#include "core/base/error.hpp"

namespace dlscale::bench {

/// How a step that all ranks take at once ended on the worst of them.
struct JointEnd {
  int signal = 0;                               ///< on any rank, or 0
  enum class Answer { right, wrong } answer{};  ///< wrong: some rank threw WrongResult
  std::string reason;  ///< of a wrong answer: of the first rank that has one
  [[nodiscard]] bool may_go_on() const { return signal == 0 && answer == Answer::right; }
};

/// Runs `work` on this rank and learns how it went on the others, so that no rank goes on alone.
/// `work` must leave the ranks in step even if it throws, unless what it throws
/// leaves_ranks_apart(): that is thrown on at once, without a word to the others. Collective: one
/// small all-reduce, more only after a failure. If this rank threw anything else but WrongResult it
/// is thrown on; if only another did, throws as throw_if_ended() does.
JointEnd run_jointly(backend::Communicator& communicator, const std::function<void()>& work);

}  // namespace dlscale::bench
