#pragma once
#include <string_view>

namespace dlscale::test {

/// A training on two nodes of four GPUs, made up: 100 MB of gradients, links of 10 and 1 GB/s.
inline constexpr std::string_view training_line =
    R"({"schema":"dlscale.case/1","id":"made/a-8gpu","set":"made",)"
    R"("network":{"name":"A net","parameters":25000000,"layers":2,"seq":128},)"
    R"("sample_unit":"image","precision":"fp32","gradient_bytes_per_element":4,)"
    R"("batch_per_gpu":32,"global_batch":256,"gpus":8,"gpus_per_node":4,"nodes":2,)"
    R"("cluster":{"gpu":"V100","intra_node":{"kind":"pcie3x16",)"
    R"("nominal_bandwidth_bytes_per_s":10000000000.0},"inter_node":{"kind":"ethernet-tcp",)"
    R"("nominal_bandwidth_bytes_per_s":1000000000.0,"nics":1}},)"
    R"("run":{"framework":"A framework 1.0","synchronisation":"all_reduce","overlap":"wfbp",)"
    R"("input":"synthetic","parallel":{"dp":8,"tp":1,"pp":1}},)"
    R"("given":[{"gpus":1,"samples_per_s":320.0,"batch_per_gpu":32,"global_batch":32}],)"
    R"("measured":{"samples_per_s":1000.5,"samples_per_s_std":2.5},"noise":0.01,"quality":"A",)"
    R"("weight":0.5,"source":"somebody","licence":"MIT","assumed":["run.overlap"]})";

/// A curve of four ranks, made up: α = 10 us and β = 1 ns/B where it was measured.
inline constexpr std::string_view curve_line =
    R"({"schema":"dlscale.allreduce/1","id":"rings/a-r4","set":"rings","task":"interpolate",)"
    R"("collective":"all_reduce","library":"a library","buffer":"device","ranks":4,"nodes":2,)"
    R"("cluster":{"gpu":"V100","gpus_per_node":2,"intra_node":null,"inter_node":{)"
    R"("kind":"ethernet-tcp","nominal_bandwidth_bytes_per_s":1000000000.0,"nics":1}},)"
    R"("given":[{"ranks":4,"nodes":2,"bytes":[1000,100000,10000000],)"
    R"("time_s":[0.000011,0.00011,0.01001]}],"query":{"bytes":[10000,1000000]},)"
    R"("measured":{"time_s":[0.00002,0.00101]},"noise":[0.01,0.02],"quality":"B",)"
    R"("weight":1,"source":"somebody","licence":"MIT","assumed":[]})";

}  // namespace dlscale::test
