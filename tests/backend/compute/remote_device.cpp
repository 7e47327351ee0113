#include "tests/backend/compute/remote_device.hpp"

#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <functional>
#include <future>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/error.hpp"

namespace dlscale::backend {
namespace {

using Clock = std::chrono::steady_clock;

// No program has memory there, on x86-64 and on 64-bit Arm.
constexpr std::uintptr_t far_away = std::uintptr_t{1} << 54U;

bool is_remote(const std::byte* p) {
  return (reinterpret_cast<std::uintptr_t>(p) & far_away) != 0;
}

std::byte* send_away(std::byte* p) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address that faults is the purpose
  return reinterpret_cast<std::byte*>(reinterpret_cast<std::uintptr_t>(p) | far_away);
}

template <class T>
T* bring_home(T* p) {
  // NOLINTNEXTLINE(performance-no-int-to-ptr): the inverse of send_away()
  return reinterpret_cast<T*>(reinterpret_cast<std::uintptr_t>(p) & ~far_away);
}

Tensor bring_home(Tensor tensor) {
  tensor.data = bring_home(tensor.data);
  return tensor;
}

std::vector<Tensor> bring_home(std::span<const Tensor> tensors) {
  std::vector<Tensor> home;
  for (const Tensor& tensor : tensors) home.push_back(bring_home(tensor));
  return home;
}

/// Does what it is given one after the other, on a thread of its own.
class Stream {
 public:
  Stream() : thread_([this](const std::stop_token& stop) { run(stop); }) {}
  ~Stream() { drain(); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void give(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      if (noting_ != nullptr) {
        noting_->push_back(std::move(work));
        return;
      }
      queue_.push_back(std::move(work));
    }
    given_.notify_one();
  }

  /// What `work` gives, instead of doing it.
  std::vector<std::function<void()>> note(const std::function<void()>& work) {
    std::vector<std::function<void()>> noted;
    set_noting(&noted);
    work();
    set_noting(nullptr);
    return noted;
  }

  /// Waits for all and rethrows the first failure.
  void synchronize() {
    drain();
    const std::lock_guard lock(mutex_);
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }

 private:
  void set_noting(std::vector<std::function<void()>>* noting) {
    const std::lock_guard lock(mutex_);
    noting_ = noting;
  }

  void drain() {
    std::promise<void> done;
    give([&done] { done.set_value(); });
    done.get_future().wait();
  }

  void run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (given_.wait(lock, stop, [this] { return !queue_.empty(); })) {
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      std::exception_ptr failure;
      try {
        work();
      } catch (...) {
        failure = std::current_exception();
      }
      lock.lock();
      if (failure && !failure_) failure_ = failure;
    }
  }

  std::mutex mutex_;
  std::condition_variable_any given_;
  std::deque<std::function<void()>> queue_;
  std::vector<std::function<void()>>* noting_ = nullptr;
  std::exception_ptr failure_;
  std::jthread thread_;
};

class RemoteMark final : public Mark {
 public:
  explicit RemoteMark(Stream& stream) {
    auto promise = std::make_shared<std::promise<Clock::time_point>>();
    passed_ = promise->get_future();
    stream.give([promise] { promise->set_value(Clock::now()); });
  }
  void wait() const override { passed_.wait(); }
  [[nodiscard]] Seconds since(const Mark& earlier) const override {
    const auto from = dynamic_cast<const RemoteMark&>(earlier).passed_.get();
    return Seconds(std::chrono::duration<double>(passed_.get() - from).count());
  }

 private:
  std::shared_future<Clock::time_point> passed_;
};

class RemoteCopyStream final : public CopyStream {
 public:
  void copy(const std::byte* from, std::byte* to, std::size_t bytes) override {
    std::memcpy(bring_home(to), bring_home(from), bytes);
  }
};

class RemoteOperation final : public Operation {
 public:
  RemoteOperation(std::unique_ptr<Operation> real, Stream& stream)
      : real_(std::move(real)), stream_(&stream) {}
  [[nodiscard]] const TensorDesc& output() const override { return real_->output(); }
  [[nodiscard]] const std::vector<Parameter>& parameters() const override {
    return real_->parameters();
  }
  [[nodiscard]] std::size_t state_bytes() const override { return real_->state_bytes(); }
  [[nodiscard]] std::size_t scratch_bytes() const override { return real_->scratch_bytes(); }
  [[nodiscard]] std::size_t pass_scratch_bytes(Pass pass) const override {
    return real_->pass_scratch_bytes(pass);
  }
  [[nodiscard]] bool has(Pass pass) const override { return real_->has(pass); }
  [[nodiscard]] std::string implementation(Pass pass) const override {
    return real_->implementation(pass);
  }
  void run(Pass pass, const Operands& operands) override {
    stream_->give([this, pass, there = operands, inputs = bring_home(operands.inputs),
                   parameters = bring_home(operands.parameters),
                   input_gradients = bring_home(operands.input_gradients),
                   parameter_gradients = bring_home(operands.parameter_gradients)] {
      Operands home = there;
      home.inputs = inputs;
      home.parameters = parameters;
      home.input_gradients = input_gradients;
      home.parameter_gradients = parameter_gradients;
      home.output = bring_home(there.output);
      home.output_gradient = bring_home(there.output_gradient);
      home.state = bring_home(there.state);
      home.scratch = bring_home(there.scratch);
      if (there.seed_memory != nullptr) home.seed = *bring_home(there.seed_memory);
      home.seed_memory = nullptr;
      real_->run(pass, home);
    });
  }

 private:
  std::unique_ptr<Operation> real_;
  Stream* stream_;
};

class RemoteProduct final : public MatrixProduct {
 public:
  RemoteProduct(std::unique_ptr<MatrixProduct> real, Stream& stream)
      : real_(std::move(real)), stream_(&stream) {}
  [[nodiscard]] std::size_t scratch_bytes() const override { return real_->scratch_bytes(); }
  [[nodiscard]] std::string implementation() const override { return real_->implementation(); }
  void run(const std::byte* a, const std::byte* b, std::byte* c, std::byte* scratch) override {
    stream_->give([this, a, b, c, scratch] {
      real_->run(bring_home(a), bring_home(b), bring_home(c), bring_home(scratch));
    });
  }

 private:
  std::unique_ptr<MatrixProduct> real_;
  Stream* stream_;
};

/// N × H × W × 3 bytes to plain N × 3 × H × W, in the arithmetic of the loader threads.
void normalise_plainly(const std::byte* pictures, const PictureStatistics& statistics,
                       const Tensor& to) {
  const auto [images, channels, height, width] = to.desc.dims;
  const std::int64_t pixels = height * width;
  for (std::int64_t i = 0; i < images * pixels * channels; ++i) {
    const auto c = static_cast<std::size_t>(i % channels);
    const std::int64_t image = i / channels / pixels;
    const float scale = 1.0F / (255.0F * statistics.deviation[c]);
    const float shift = -statistics.mean[c] / statistics.deviation[c];
    const std::int64_t at = (image * channels + i % channels) * pixels + i / channels % pixels;
    to.as<float>()[at] = static_cast<float>(pictures[i]) * scale + shift;
  }
}

/// Notes what the stream is given, once.
class RemoteRecording final : public Recording {
 public:
  RemoteRecording(Stream& stream, const std::function<void()>& work)
      : stream_(&stream), noted_(stream.note(work)) {}
  void play() override {
    for (const auto& part : noted_) stream_->give(part);
  }

 private:
  Stream* stream_;
  std::vector<std::function<void()>> noted_;
};

class RemoteDevice final : public ComputeDevice {
 public:
  explicit RemoteDevice(std::shared_ptr<std::atomic<int>> left)
      : real_(family<ComputeBackend>().find("reference")->open({})), left_(std::move(left)) {}
  [[nodiscard]] std::string_view name() const override { return "remote"; }
  [[nodiscard]] std::map<std::string, std::string> libraries() const override { return {}; }
  [[nodiscard]] std::optional<OwnMemory> own_memory() const override {
    return OwnMemory{Bytes(1e9), Bytes(1e9), Bytes(1e6)};
  }

  /// Lives as long as the device, so that what is still to be done finds it.
  [[nodiscard]] Buffer allocate(std::size_t bytes) override {
    memory_.push_back(real_->allocate(bytes));
    std::byte* there = memory_.back() ? send_away(memory_.back().get()) : nullptr;
    return {there, FreeBuffer{[](std::byte*) noexcept {}}};
  }
  [[nodiscard]] Buffer allocate_on_host(std::size_t bytes) override {
    if (left_ && (*left_)-- <= 0) throw ConfigError("no more memory of the host");
    return real_->allocate_on_host(bytes);
  }
  [[nodiscard]] TensorDesc plain(std::array<std::int64_t, 4> dims, DType dtype) const override {
    return real_->plain(dims, dtype);
  }
  [[nodiscard]] std::unique_ptr<Operation> create(const OperationSpec& spec) override {
    return std::make_unique<RemoteOperation>(real_->create(spec), stream_);
  }
  [[nodiscard]] std::unique_ptr<MatrixProduct> matrix_product(const GemmShape& shape,
                                                              DType dtype) override {
    return std::make_unique<RemoteProduct>(real_->matrix_product(shape, dtype), stream_);
  }

  void copy(const Tensor& from, const Tensor& to) override {
    if (is_remote(from.data)) {
      stream_.give([this, from, to] { real_->copy(bring_home(from), bring_home(to)); });
      return;
    }
    const std::byte* data = from.data;
    stream_.give([this, desc = from.desc, to,
                  bytes = std::vector<std::byte>(data, data + from.desc.layout.bytes)]() mutable {
      real_->copy({desc, bytes.data()}, bring_home(to));
    });
  }
  void normalise(const std::byte* pictures, const PictureStatistics& statistics,
                 const Tensor& to) override {
    stream_.give([pictures, statistics, to] {
      normalise_plainly(bring_home(pictures), statistics, bring_home(to));
    });
  }
  void accumulate(const Tensor& value, const Tensor& into) override {
    stream_.give([this, value, into] { real_->accumulate(bring_home(value), bring_home(into)); });
  }
  void update(const SgdStep& step, std::size_t n, float* weights, const float* gradients,
              float* momentum, std::uint16_t* low) override {
    stream_.give([this, step, n, weights, gradients, momentum, low] {
      real_->update(step, n, bring_home(weights), bring_home(gradients), bring_home(momentum),
                    bring_home(low));
    });
  }
  void clear(std::byte* data, std::size_t bytes) override {
    stream_.give([this, data, bytes] { real_->clear(bring_home(data), bytes); });
  }
  void touch(std::byte* data, std::size_t bytes) override {
    stream_.give([this, data, bytes] { real_->touch(bring_home(data), bytes); });
  }

  void copy_ahead(const std::byte* from, std::byte* to, std::size_t bytes) override {
    copies_.give([from, to, bytes] { std::memcpy(bring_home(to), from, bytes); });
  }
  void join_copies() override {
    auto done = std::make_shared<std::promise<void>>();
    copies_.give([done] { done->set_value(); });
    stream_.give([done] { done->get_future().wait(); });
  }
  [[nodiscard]] std::unique_ptr<Recording> record(std::function<void()> work) override {
    return std::make_unique<RemoteRecording>(stream_, work);
  }

  void synchronize() override { stream_.synchronize(); }
  [[nodiscard]] std::unique_ptr<Mark> mark() override {
    return std::make_unique<RemoteMark>(stream_);
  }
  [[nodiscard]] Timed time(const std::function<void()>& work) override {
    const auto start = mark();
    const Clock::time_point giving = Clock::now();
    work();
    const Seconds host(std::chrono::duration<double>(Clock::now() - giving).count());
    return {.device = mark()->since(*start), .host = host};
  }
  [[nodiscard]] std::unique_ptr<CopyStream> copy_stream() override {
    return std::make_unique<RemoteCopyStream>();
  }

 private:
  std::unique_ptr<ComputeDevice> real_;
  std::shared_ptr<std::atomic<int>> left_;  ///< of memory of the host; null: no end of it
  std::vector<Buffer> memory_;
  Stream copies_;
  Stream stream_;  ///< last: ends before what it works on goes
};

}  // namespace

std::unique_ptr<ComputeDevice> make_remote_device() {
  return make_remote_device_with_host_memory(nullptr);
}

std::unique_ptr<ComputeDevice> make_remote_device_with_host_memory(
    std::shared_ptr<std::atomic<int>> left) {
  return std::make_unique<RemoteDevice>(std::move(left));
}

}  // namespace dlscale::backend
