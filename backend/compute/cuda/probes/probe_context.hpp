#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>
#include <memory>
#include <span>

#include "backend/compute/cuda/runtime/handles.hpp"
#include "backend/compute/device_probes.hpp"

namespace dlscale::backend::cuda {

/// State that the probes of a device share. It outlives them.
struct ProbeContext {
  int device = 0;
  int multiprocessors = 0;
  Stream stream = make_stream();
  Event before = make_event();
  Event after = make_event();
};

/// Time that suffices for the host to enqueue a few operations behind a held stream.
inline constexpr Seconds short_hold{50e-6};

/// Waits for the work on the stream.
void finish(const ProbeContext& context);

/// Blocking copies.
void upload(std::span<const std::byte> from, std::byte* to);
void download(const std::byte* from, std::span<std::byte> to);

std::unique_ptr<Probe> make_array_probe(const ProbeContext& context, const ArraySpec& spec);
std::unique_ptr<Probe> make_chase_probe(const ProbeContext& context, const ChaseSpec& spec);
std::unique_ptr<Probe> make_bank_probe(const ProbeContext& context, const BankSpec& spec);
std::unique_ptr<Probe> make_launch_probe(const ProbeContext& context, const LaunchSpec& spec);
std::unique_ptr<Probe> make_copy_probe(const ProbeContext& context, const CopySpec& spec);

}  // namespace dlscale::backend::cuda
