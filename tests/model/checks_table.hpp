#pragma once
#include <string_view>

namespace dlscale::model {

/// A published or derived figure that the formulas of iterations, messages, input, stragglers and
/// time to train are held to, by the rules of computed_checks.hpp, or why none can be.
struct Check {
  std::string_view id;
  std::string_view expected;  ///< as its table has it
  /// Where there is no rule: what is missing. Else what the rule does not hold, or how sure the
  /// figure is, if there is anything to say.
  std::string_view missing = {};
};

inline constexpr std::string_view claim = "a claim without the figures that it was made from";
inline constexpr std::string_view claim_of_a_talk =
    "a claim of a talk, not checked, without the figures that it was made from";
inline constexpr std::string_view a_talk = "on a slide of a talk, not checked against a paper";
inline constexpr std::string_view ratios_only =
    "measured: ratios of the methods are held; layers of these networks are taken to be alike";
inline constexpr std::string_view beyond_the_line =
    "the smallest message, half again what the line through all larger ones says";
inline constexpr std::string_view own_constant =
    "a figure that predictions take: that they have it is held";
inline constexpr std::string_view by_data_sheets =
    "measured, with evaluations: held by the interval of a prediction from data sheets";
inline constexpr std::string_view order_only =
    "measured: the order of the methods is held; images per node are ambiguous";
inline constexpr std::string_view older_horovod = "defaults before 0.21";
inline constexpr std::string_view as_printed =
    "a comment evaluated as printed: the product is below by what its test says";
inline constexpr std::string_view host_based = "of messages between hosts";
inline constexpr std::string_view two_points =
    "one of two points of a curve whose others are not at hand: each is held by the other";

/// By number; rows of convolutions, memory and models in parts are not among them.
inline constexpr Check checks[] = {
    {"C001", "16"},
    {"C002", "1282.28"},
    {"C003", "2485.12"},
    {"C004", "4920.82"},
    {"C005", "920.28"},
    {"C006", "1821.20"},
    {"C007", "3602.90"},
    {"C008", "7126.52"},
    {"C015", "a=9.080981e-04 b=7.395651e-10"},
    {"C016", "a=5.230273e-04 b=8.570747e-10"},
    {"C017", "a=2.358368e-04 b=4.059479e-10"},
    {"C018", "a=9.753672e-05 b=3.056823e-10"},
    {"C019", "a=4.204299e-05 b=2.058936e-10"},
    {"C020", "a=2.554691e-06 b=9.837548e-11"},
    {"C021", "1.233439/1.360146/1.126113", ratios_only},
    {"C022", "0.757145/0.636333/0.629695", ratios_only},
    {"C023", "1.082075/1.143499/1.089261", ratios_only},
    {"C024", "0.531046/0.518223/0.486271", ratios_only},
    {"C025", "0.943731/0.899976/0.780576", ratios_only},
    {"C026", "0.591020/0.477116/0.423176", ratios_only},
    {"C027", "0.832388/0.682585/0.628013", ratios_only},
    {"C028", "0.763600/0.512830/0.456600", ratios_only},
    {"C029", "0.614204/0.406464/0.361810", ratios_only},
    {"C030", "163.36/299.32/599.28/1006.4", order_only},
    {"C031", "163.36/316.08/600.24/1210.88", order_only},
    {"C032", "163.36/250.28/461.36/889.28", order_only},
    {"C033", "205.600/325.575/205.600 (33)/205.600 (33)"},
    {"C034", "205.824/385.786/205.824 (10)/205.824 (10)"},
    {"C035", "256.901/416.163/215.538 (6)/215.224 (6)"},
    {"C036", "318.245/431.894/234.325 (6)/234.261 (6)"},
    {"C037", "418.421/440.846/260.840 (5)/247.557 (5)"},
    {"C038", "607.516/447.494/380.298 (2)/265.788 (5)"},
    {"C039", "134217728 B; 1 ms (before: 67108864 B; 5 ms)", older_horovod},
    {"C040", "1048576; 26214400"},
    {"C041", "4096000 B; 1e6 params; 4e6 params"},
    {"C042", "171", claim},
    {"C043", "90;90;68", claim},
    {"C044", "18.5150"},
    {"C045", "33.0300"},
    {"C046", "18.4350"},
    {"C047", "30.0300"},
    {"C048", "17.6000"},
    {"C049", "11.6600"},
    {"C050", "19.4700"},
    {"C051", "54.0500"},
    {"C052", "40.3300", as_printed},
    {"C053", "40.0400"},
    {"C054", "18.4833"},
    {"C055", "12.1000"},
    {"C056", "1290994"},
    {"C057", "11.6092"},
    {"C058", "56.0/137.1429/545.335"},
    {"C059", "15.0/22.2857/15.368"},
    {"C060", "40.6/252.3429/44.755"},
    {"C061", "35.2/2.6316/39.647"},
    {"C062", "537.32/12.3871/5954.963"},
    {"C063", "120.4/10.0/8509.008"},
    {"C064", "85.2/2.6316/89.647"},
    {"C065", "2484.4/6.0059/2485.764"},
    {"C066", "2(n-1)/n;(n-1)/n;(n-1)/n;1;1;(n-1)/n"},
    {"C067", "6.01 -> 2.83", host_based},
    {"C068", "46.93 -> 14.48", host_based},
    {"C069", "95 (ISC paper text) / 96 (programme text)", own_constant},
    {"C070", "16", claim_of_a_talk},
    {"C071", "21.0748"},
    {"C072", "34.4290"},
    {"C073", "51.2908"},
    {"C074", "87.4689"},
    {"C075", "97.3354"},
    {"C076", "0.1502", beyond_the_line},
    {"C077", "0.7466"},
    {"C078", "0.2353", two_points},
    {"C079", "7.8194", two_points},
    {"C080", "29.3us 8.156e-11; 38.6us 1.326e-10; 71.1us 1.975e-10"},
    {"C081", "14x; 16.6x; 7%", claim},
    {"C082", "133x; 2.6x", claim},
    {"C083", "2.5x; 14%/9%; 1395 samples/s", claim},
    {"C084", "recursive_doubling"},
    {"C085", "rabenseifner"},
    {"C086", "recursive_doubling"},
    {"C087", "nonoverlapping"},
    {"C088", "knomial"},
    {"C089", "pairwise"},
    {"C090", "two_proc"},
    {"C091", "ring"},
    {"C092", "binomial"},
    {"C138", "37.6; 105.4; 204.7"},
    {"C139", "39.8"},
    {"C140", "0.5642"},
    {"C141", "1.0294"},
    {"C142", "1.4236"},
    {"C143", "1.7660"},
    {"C144", "2.3437"},
    {"C145", "2.8269"},
    {"C146", "3.2482"},
    {"C147", "3.4418"},
    {"C148", "2.7179"},
    {"C149", "4.7439"},
    {"C150", "7.5092"},
    {"C151", "3.689 s/epoch; 347304 img/s; 226.1 img/s/GPU", a_talk},
    {"C152", "443.5 s = 7.39 min; 127 img/s/node"},
    {"C153", "35.0"},
    {"C154", "35.2"},
    {"C155", "40.0"},
    {"C156", "42.0"},
    {"C157", "45.4"},
    {"C158", "56.0"},
    {"C159", "68.0"},
    {"C160", "79.9"},
    {"C161", "84.5"},
    {"C162", "85.857"},
    {"C163", "4271.9", by_data_sheets},
    {"C164", "120.2", by_data_sheets},
    {"C165", "63.4", by_data_sheets},
    {"C166", "34.5", by_data_sheets},
    {"C167", "20.9", by_data_sheets}};

}  // namespace dlscale::model
