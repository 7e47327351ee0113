#include "backend/compute/cuda/probes/array_pass.hpp"

#include <algorithm>

namespace dlscale::backend::cuda {

double expected_output(ArrayPass pass, std::size_t i) {
  const double a = first_input(i);
  const double b = second_input(i);
  switch (pass) {
    case ArrayPass::copy:
      return a;
    case ArrayPass::scale:
      return 3.0 * a;
    case ArrayPass::add:
      return a + b;
    case ArrayPass::triad:
      return a + 3.0 * b;
  }
  fail_expectation("pass is an ArrayPass");
}

int passes_for(std::size_t bytes) {
  EXPECT(bytes > 0);
  constexpr std::size_t enough = std::size_t{256} << 20;
  constexpr std::size_t most = 1024;
  return static_cast<int>(std::clamp<std::size_t>(enough / bytes, 1, most));
}

}  // namespace dlscale::backend::cuda
