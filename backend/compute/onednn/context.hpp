#pragma once
#include <omp.h>

#include "backend/compute/onednn/compat.hpp"

namespace dlscale::backend::onednn_device {

/// State that the operations of a device share. The device outlives them.
struct Context {
  dnnl::engine engine;
  dnnl::stream stream;
  int threads = 1;
};

/// Sets the number of OpenMP threads for a call, and restores it afterwards, which costs
/// nanoseconds. OpenMP keeps this number per calling thread, and oneDNN reads it when it makes a
/// primitive and again when it runs one. So every thread that calls the device needs it.
class ThreadScope {
 public:
  explicit ThreadScope(int threads) : before_(omp_get_max_threads()) {
    omp_set_num_threads(threads);
  }
  ~ThreadScope() { omp_set_num_threads(before_); }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  int before_;
};

}  // namespace dlscale::backend::onednn_device
