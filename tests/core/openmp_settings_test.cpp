#include "core/system/openmp_settings.hpp"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "tests/core/support.hpp"

namespace dlscale {
namespace {

void check(const std::string& name, const std::string& value) {
  check_openmp_settings([&](const char* asked) { return name == asked ? value.c_str() : nullptr; });
}

struct Values {
  const char* name;
  std::vector<std::string> taken;
  std::vector<std::string> refused;
};

const std::vector<Values> all_values{
    {"OMP_NUM_THREADS",
     {"1", " 4 ", "4,3,2", "4, 2", "65536"},
     {"", " ", "abc", "0", "-1", "1e3", "1.5", "4,x", "4,", ",4", "4;2", "4 2", "0x10", "65537",
      "999999999999999", "99999999999999999999999"}},
    {"OMP_THREAD_LIMIT", {"1", "64", "2147483647"}, {"", "0", "-1", "x", "2147483648", "all"}},
    {"KMP_DEVICE_THREAD_LIMIT", {"8", "all", "ALL"}, {"abc", "0", "alls", "all,8"}},
    {"KMP_ALL_THREADS", {"8", "all", "All"}, {"abc", "0", "al", ""}},
    {"OMP_STACKSIZE",
     {"4096", "8M", "8m", "8 M", " 16384 K", "1G", "64kB", "1"},
     {"", "abc", "-8M", "8X", "1P", "8.5M", "99999999G", "99999999999999999999", "0"}},
    {"GOMP_STACKSIZE", {"4096"}, {"abc"}},
    {"KMP_STACKSIZE", {"8m", "67108864"}, {"abc", "99999999g"}},
    {"OMP_PROC_BIND",
     {"true", "FALSE", "close", "spread,close", "master"},
     {"", "nonsense", "yes"}},
    {"OMP_PLACES",
     {"cores", "threads(4)", "SOCKETS", "{0,1},{2,3}", "{0:4}:2:4", "numa_domains"},
     {"", "nonsense", "core", "{0,1", "cores(x)", "cores(4"}},
    {"GOMP_CPU_AFFINITY", {"0 3 1-2 4-15:2", "0-3", "0,1"}, {"", "xyz", "all", "-1"}}};

TEST(OpenMpSettings, AreTakenAsItsLibrariesReadThem) {
  for (const Values& values : all_values) {
    for (const std::string& value : values.taken) {
      EXPECT_NO_THROW(check(values.name, value)) << values.name << "=" << value;
    }
  }
}

TEST(OpenMpSettings, ThatEndOrMisleadItsLibrariesAreRefused) {
  for (const Values& values : all_values) {
    for (const std::string& value : values.refused) {
      const std::string error = test::config_error([&] { check(values.name, value); });
      const std::string begin = std::string(values.name) + " is \"" + value + "\" (OpenMP takes ";
      EXPECT_EQ(error.substr(0, begin.size()), begin) << values.name << "=" << value;
    }
  }
}

}  // namespace
}  // namespace dlscale
