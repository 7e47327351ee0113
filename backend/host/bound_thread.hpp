#pragma once
#include <memory>

namespace dlscale::backend {

/// Binds the calling thread alone to a core, as usable_cores() numbers them, until it is destroyed
/// on the same thread; then the thread may run where it might before.
/// Throws LibraryError if the system refuses.
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
