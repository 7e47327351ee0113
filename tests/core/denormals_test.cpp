// On x86 with glibc, whose fenv_t has the control word of SSE.
#include <fenv.h>
#include <gtest/gtest.h>

#include "core/system/environment.hpp"

namespace dlscale {
namespace {

// Bits of MXCSR [Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, sections
// 10.2.3.3 and 10.2.3.4].
constexpr unsigned flush_to_zero = 1U << 15;
constexpr unsigned denormals_are_zeros = 1U << 6;

/// Sets bits of the control word; it is as before when this ends.
class ControlWord {
 public:
  explicit ControlWord(unsigned bits) {
    fegetenv(&before_);
    fenv_t changed = before_;
    changed.__mxcsr |= bits;
    fesetenv(&changed);
  }
  ~ControlWord() { fesetenv(&before_); }
  ControlWord(const ControlWord&) = delete;
  ControlWord& operator=(const ControlWord&) = delete;

 private:
  fenv_t before_{};
};

TEST(Denormals, AreToldAsTheProcessorIsSet) {
  const auto told = [](unsigned bits) {
    const ControlWord word(bits);
    return capture_environment().denormals;
  };
  EXPECT_EQ(told(0), "kept");
  EXPECT_EQ(told(flush_to_zero), "flushed to zero");
  EXPECT_EQ(told(denormals_are_zeros), "taken as zero");
  EXPECT_EQ(told(flush_to_zero | denormals_are_zeros), "flushed to zero, taken as zero");
}

}  // namespace
}  // namespace dlscale
