#include "bench/e2e/jointly.hpp"

#include <array>

#include "backend/comm/together.hpp"
#include "core/base/interrupt.hpp"
#include "core/base/ranks_apart.hpp"

namespace dlscale::bench {

JointEnd run_jointly(backend::Communicator& communicator, const std::function<void()>& work) {
  std::exception_ptr failure;
  std::exception_ptr wrong_answer;
  std::string reason;
  try {
    work();
  } catch (const WrongResult& error) {
    reason = error.what();
    wrong_answer = std::current_exception();
  } catch (...) {
    failure = std::current_exception();
    if (leaves_ranks_apart(failure)) throw;
  }
  std::array<double, 3> signs{static_cast<double>(pending_signal()), wrong_answer ? 1.0 : 0.0,
                              static_cast<double>(backend::exit_code_of(failure))};
  const auto& [signal, wrong, exit_code] = signs;
  communicator.all_reduce(std::span<double>(signs), backend::Reduction::max);
  if (exit_code > 0) throw_if_ended(agree(communicator, failure), failure);
  if (signal > 0) follow_signal(static_cast<int>(signal));
  if (wrong > 0 && communicator.size() > 1) reason = agree(communicator, wrong_answer).cause;
  return {.signal = static_cast<int>(signal),
          .answer = wrong > 0 ? JointEnd::Answer::wrong : JointEnd::Answer::right,
          .reason = reason};
}

}  // namespace dlscale::bench
