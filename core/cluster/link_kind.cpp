#include "core/cluster/link_kind.hpp"

#include <fmt/format.h>

#include <array>
#include <set>

#include "core/config/config_path.hpp"
#include "core/text/words.hpp"

namespace dlscale {
namespace {

constexpr std::array reaches{LinkReach::intra_node, LinkReach::inter_node};
constexpr std::array transports{LinkTransport::pcie, LinkTransport::nvlink, LinkTransport::tcp,
                                LinkTransport::os_bypass};

/// Limits from an old serial line to several times the fastest existing link, to detect typing
/// errors.
BytesPerSecond read_rate(const ConfigMap& map) {
  const auto rate = map.quantity<BytesPerSecond>("bandwidth");
  if (rate < BytesPerSecond(1e6) || rate > BytesPerSecond(1e13)) {
    map.refuse("bandwidth", "out of [1 MB/s, 10 TB/s]", "Write that of one direction.");
  }
  return rate;
}

std::vector<LinkRate> read_rates(const ConfigMap& map) {
  std::vector<LinkRate> rates;
  std::set<std::string> names;
  for (const ConfigMap& entry : map.maps("rates")) {
    entry.allow_only({"name", "bandwidth"});
    rates.push_back({entry.name("name"), read_rate(entry)});
    if (!names.insert(rates.back().name).second) {
      entry.refuse("name", "there twice", "Keep one.");
    }
    if (rates.size() > 1 && rates.back().bandwidth <= rates[rates.size() - 2].bandwidth) {
      entry.refuse("bandwidth", "not more than the rate above", "Order them, slowest first.");
    }
  }
  if (rates.empty()) map.refuse("rates", "no rate", "Name at least one.");
  return rates;
}

void read_bandwidth(const ConfigMap& map, LinkKind& kind) {
  if (kind.reach == LinkReach::intra_node) {
    if (map.has("rates")) {
      map.refuse("rates", "but within a node a kind has one", "Write bandwidth and channels.");
    }
    kind.channels = map.integer("channels", {1, 64});
    kind.rates.push_back({kind.name, read_rate(map)});
    return;
  }
  for (const std::string_view key : {"bandwidth", "channels"}) {
    if (map.has(key)) {
      map.refuse(key, "but between nodes a kind comes with several rates", "Write rates.");
    }
  }
  kind.rates = read_rates(map);
}

std::vector<LinkFraming> read_framings(const ConfigMap& map) {
  std::vector<LinkFraming> framings;
  if (!map.has("framings")) return framings;
  for (const ConfigMap& entry : map.maps("framings")) {
    entry.allow_only({"name", "payload", "overhead"});
    framings.push_back(
        {entry.name("name"), entry.quantity<Bytes>("payload"), entry.quantity<Bytes>("overhead")});
    if (framings.back().overhead >= framings.back().payload) {
      entry.refuse("overhead", "not less than the payload", "Write what headers and gaps take.");
    }
  }
  return framings;
}

LatencyRange read_latency(const ConfigMap& map) {
  map.allow_only({"low", "high", "of"});
  LatencyRange range{map.quantity<Seconds>("low"), map.quantity<Seconds>("high"), map.text("of")};
  if (range.high < range.low) map.refuse("high", "less than low", "Swap them.");
  if (range.high > Seconds(1)) map.refuse("high", "more than a second", "Check its unit.");
  return range;
}

}  // namespace

std::string_view link_reach_name(LinkReach reach) {
  switch (reach) {
    case LinkReach::intra_node:
      return "intra_node";
    case LinkReach::inter_node:
      return "inter_node";
  }
  fail_expectation("a known reach of links");
}

LinkReach parse_link_reach(std::string_view name) {
  return parse_word("reach", name, reaches, link_reach_name);
}

std::string_view link_transport_name(LinkTransport transport) {
  switch (transport) {
    case LinkTransport::pcie:
      return "pcie";
    case LinkTransport::nvlink:
      return "nvlink";
    case LinkTransport::tcp:
      return "tcp";
    case LinkTransport::os_bypass:
      return "os_bypass";
  }
  fail_expectation("a known transport of links");
}

LinkTransport parse_link_transport(std::string_view name) {
  return parse_word("transport", name, transports, link_transport_name);
}

BytesPerSecond LinkKind::bandwidth() const {
  EXPECT(reach == LinkReach::intra_node && rates.size() == 1);
  return rates.front().bandwidth;
}

LinkKind load_link_kind(std::string_view name) {
  const ConfigMap map = ConfigMap::load(find_config("links", name));
  map.allow_only({"link", "doc", "reach", "transport", "channels", "bandwidth", "rates", "framings",
                  "latency", "sources"});
  LinkKind kind;
  kind.name = map.text("link");
  kind.doc = map.text_or("doc", "");
  kind.reach = read_word(map, "reach", parse_link_reach);
  kind.transport = read_word(map, "transport", parse_link_transport);
  read_bandwidth(map, kind);
  kind.framings = read_framings(map);
  if (map.has("latency")) kind.latency = read_latency(map.map("latency"));
  constexpr std::array<std::string_view, 5> figures{"channels", "bandwidth", "rates", "framings",
                                                    "latency"};
  kind.sources = read_sources(map, stated_keys(map, figures));
  return kind;
}

std::vector<LinkKind> load_link_kinds() {
  std::vector<LinkKind> kinds;
  for (const std::string& name : config_names("links")) kinds.push_back(load_link_kind(name));
  return kinds;
}

BytesPerSecond pcie_bandwidth(int generation, int lanes) {
  EXPECT(generation >= 1 && generation <= 6 && lanes >= 1 && lanes <= 32);
  struct Signal {
    double transfers_per_second;
    double code;
  };
  constexpr std::array<Signal, 6> signals{{{2.5e9, 0.8},
                                           {5e9, 0.8},
                                           {8e9, 128.0 / 130},
                                           {16e9, 128.0 / 130},
                                           {32e9, 128.0 / 130},
                                           {64e9, 242.0 / 256}}};
  const Signal& signal = signals[static_cast<std::size_t>(generation - 1)];
  return BytesPerSecond(signal.transfers_per_second * signal.code * lanes / 8);
}

}  // namespace dlscale
