#pragma once
#include <memory>

namespace dlscale::backend {

/// Binds the calling thread alone to a core, numbered as in usable_cores(). The destructor, on the
/// same thread, restores the previous binding. Throws LibraryError if the system refuses.
class BoundThread {
 public:
  explicit BoundThread(int core);
  ~BoundThread();
  BoundThread(const BoundThread&) = delete;
  BoundThread& operator=(const BoundThread&) = delete;

 private:
  struct Before;
  std::unique_ptr<Before> before_;
};

}  // namespace dlscale::backend
