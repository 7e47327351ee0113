#include "backend/compute/host_gemm.hpp"

#include <fmt/format.h>
#include <omp.h>

#include <oneapi/dnnl/dnnl.hpp>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

/// Limits the caller to one thread: the library asks OpenMP how many it may use.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace

const std::string_view multiply_call = "dnnl_sgemm";

void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const Matrix& a, const Matrix& b,
              float* c, std::int64_t c_stride, bool add) {
  const OneThread scope;
  const dnnl_status_t status =
      dnnl_sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1.0F, a.data,
                 a.stride, b.data, b.stride, add ? 1.0F : 0.0F, c, c_stride);
  if (status == dnnl_success) return;
  throw LibraryError(fmt::format("oneDNN: dnnl_sgemm of {} x {} x {} failed (status {})", m, n, k,
                                 static_cast<int>(status)));
}

}  // namespace dlscale::backend
