#include "bench/e2e/jointly.hpp"

#include <array>

#include "core/interrupt.hpp"

namespace dlscale::bench {
JointEnd run_jointly(backend::Communicator& communicator, const std::function<void()>& work) {
  std::array<double, 3> signs{};
  auto& [signal, wrong, exit_code] = signs;
  std::exception_ptr failure;
  std::string reason;
  try {
    work();
  } catch (const WrongResult& error) {
    wrong = 1;
    reason = error.what();
  } catch (const Error& error) {
    exit_code = static_cast<double>(error.code());
    failure = std::current_exception();
  } catch (...) {
    exit_code = static_cast<double>(ExitCode::wrong_result);
    failure = std::current_exception();
  }
  signal = pending_signal();
  communicator.all_reduce(std::span<double>(signs), backend::Reduction::max);
  if (failure) std::rethrow_exception(failure);
  if (exit_code > 0) {
    throw Error(static_cast<ExitCode>(static_cast<int>(exit_code)),
                "another rank stopped with an error; its message says why");
  }
  if (wrong > 0 && reason.empty()) reason = "another rank got a wrong answer";
  return {.signal = static_cast<int>(signal),
          .answer = wrong > 0 ? JointEnd::Answer::wrong : JointEnd::Answer::right,
          .reason = reason};
}

}  // namespace dlscale::bench
