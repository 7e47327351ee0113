#pragma once
#include <string_view>

namespace dlscale::model {

/// A published or derived figure that the formulas of iterations, messages, input, stragglers and
/// time to train are held to: which test does it, or why none can.
struct Check {
  std::string_view id;
  std::string_view expected;  ///< as its table has it
  /// The test file below tests/ whose text names the id.
  std::string_view held_in;
  /// Where held_in is empty: what is missing. Else what the test does not hold, or how sure the
  /// figure is, if there is anything to say.
  std::string_view missing = {};
};

inline constexpr std::string_view claim = "a claim without the figures that it was made from";
inline constexpr std::string_view claim_of_a_talk =
    "a claim of a talk, not checked, without the figures that it was made from";
inline constexpr std::string_view a_talk = "on a slide of a talk, not checked against a paper";
inline constexpr std::string_view bounds_only =
    "measured: held between bounds, for what it was measured on is not known";
inline constexpr std::string_view order_only =
    "measured: the order of the methods is held; images per node are ambiguous";
inline constexpr std::string_view older_horovod = "defaults before 0.21";
inline constexpr std::string_view as_printed =
    "a comment evaluated as printed: the product is below by what its test says";
inline constexpr std::string_view host_based = "of messages between hosts";
inline constexpr std::string_view two_points = "two points of a curve whose others are not at hand";

/// By number; rows of convolutions, memory and models in parts are not among them.
inline constexpr Check checks[] = {
    {"C001", "16", "model/closed_form_test.cpp"},
    {"C002", "1282.28", "model/closed_form_test.cpp"},
    {"C003", "2485.12", "model/closed_form_test.cpp"},
    {"C004", "4920.82", "model/closed_form_test.cpp"},
    {"C005", "920.28", "model/closed_form_test.cpp"},
    {"C006", "1821.20", "model/closed_form_test.cpp"},
    {"C007", "3602.90", "model/closed_form_test.cpp"},
    {"C008", "7126.52", "model/closed_form_test.cpp"},
    {"C015", "a=9.080981e-04 b=7.395651e-10", "model/published_figures_test.cpp"},
    {"C016", "a=5.230273e-04 b=8.570747e-10", "model/published_figures_test.cpp"},
    {"C017", "a=2.358368e-04 b=4.059479e-10", "model/published_figures_test.cpp"},
    {"C018", "a=9.753672e-05 b=3.056823e-10", "model/published_figures_test.cpp"},
    {"C019", "a=4.204299e-05 b=2.058936e-10", "model/published_figures_test.cpp"},
    {"C020", "a=2.554691e-06 b=9.837548e-11", "model/published_figures_test.cpp"},
    {"C021", "1.233439/1.360146/1.126113", "model/published_figures_test.cpp", bounds_only},
    {"C022", "0.757145/0.636333/0.629695", "model/published_figures_test.cpp", bounds_only},
    {"C023", "1.082075/1.143499/1.089261", "model/published_figures_test.cpp", bounds_only},
    {"C024", "0.531046/0.518223/0.486271", "model/published_figures_test.cpp", bounds_only},
    {"C025", "0.943731/0.899976/0.780576", "model/published_figures_test.cpp", bounds_only},
    {"C026", "0.591020/0.477116/0.423176", "model/published_figures_test.cpp", bounds_only},
    {"C027", "0.832388/0.682585/0.628013", "model/published_figures_test.cpp", bounds_only},
    {"C028", "0.763600/0.512830/0.456600", "model/published_figures_test.cpp", bounds_only},
    {"C029", "0.614204/0.406464/0.361810", "model/published_figures_test.cpp", bounds_only},
    {"C030", "163.36/299.32/599.28/1006.4", "model/published_figures_test.cpp", order_only},
    {"C031", "163.36/316.08/600.24/1210.88", "model/published_figures_test.cpp", order_only},
    {"C032", "163.36/250.28/461.36/889.28", "model/published_figures_test.cpp", order_only},
    {"C033", "205.600/325.575/205.600 (33)/205.600 (33)", "model/published_test.cpp"},
    {"C034", "205.824/385.786/205.824 (10)/205.824 (10)", "model/published_test.cpp"},
    {"C035", "256.901/416.163/215.538 (6)/215.224 (6)", "model/published_test.cpp"},
    {"C036", "318.245/431.894/234.325 (6)/234.261 (6)", "model/published_test.cpp"},
    {"C037", "418.421/440.846/260.840 (5)/247.557 (5)", "model/published_test.cpp"},
    {"C038", "607.516/447.494/380.298 (2)/265.788 (5)", "model/published_test.cpp"},
    {"C039", "134217728 B; 1 ms (before: 67108864 B; 5 ms)", "model/published_figures_test.cpp",
     older_horovod},
    {"C040", "1048576; 26214400", "model/published_figures_test.cpp"},
    {"C041", "4096000 B; 1e6 params; 4e6 params", "model/published_figures_test.cpp"},
    {"C042", "171", "", claim},
    {"C043", "90;90;68", "", claim},
    {"C044", "18.5150", "core/collective/closed_forms_test.cpp"},
    {"C045", "33.0300", "core/collective/closed_forms_test.cpp"},
    {"C046", "18.4350", "core/collective/closed_forms_test.cpp"},
    {"C047", "30.0300", "core/collective/closed_forms_test.cpp"},
    {"C048", "17.6000", "core/collective/closed_forms_test.cpp"},
    {"C049", "11.6600", "core/collective/closed_forms_test.cpp"},
    {"C050", "19.4700", "core/collective/closed_forms_test.cpp"},
    {"C051", "54.0500", "core/collective/closed_forms_test.cpp"},
    {"C052", "40.3300", "core/collective/closed_forms_test.cpp", as_printed},
    {"C053", "40.0400", "core/collective/closed_forms_test.cpp"},
    {"C054", "18.4833", "core/collective/closed_forms_test.cpp"},
    {"C055", "12.1000", "core/collective/closed_forms_test.cpp"},
    {"C056", "1290994", "core/collective/pipeline_test.cpp"},
    {"C057", "11.6092", "core/collective/pipeline_test.cpp"},
    {"C058", "56.0/137.1429/545.335", "model/published_figures_test.cpp"},
    {"C059", "15.0/22.2857/15.368", "model/published_figures_test.cpp"},
    {"C060", "40.6/252.3429/44.755", "model/published_figures_test.cpp"},
    {"C061", "35.2/2.6316/39.647", "model/published_figures_test.cpp"},
    {"C062", "537.32/12.3871/5954.963", "model/published_figures_test.cpp"},
    {"C063", "120.4/10.0/8509.008", "model/published_figures_test.cpp"},
    {"C064", "85.2/2.6316/89.647", "model/published_figures_test.cpp"},
    {"C065", "2484.4/6.0059/2485.764", "model/published_figures_test.cpp"},
    {"C066", "2(n-1)/n;(n-1)/n;(n-1)/n;1;1;(n-1)/n", "model/published_figures_test.cpp"},
    {"C067", "6.01 -> 2.83", "model/published_figures_test.cpp", host_based},
    {"C068", "46.93 -> 14.48", "model/published_figures_test.cpp", host_based},
    {"C069", "95 (ISC paper text) / 96 (programme text)", "model/published_figures_test.cpp",
     bounds_only},
    {"C070", "16", "", claim_of_a_talk},
    {"C071", "21.0748", "model/published_figures_test.cpp"},
    {"C072", "34.4290", "model/published_figures_test.cpp"},
    {"C073", "51.2908", "model/published_figures_test.cpp"},
    {"C074", "87.4689", "model/published_figures_test.cpp"},
    {"C075", "97.3354", "model/published_figures_test.cpp"},
    {"C076", "0.1502", "model/published_figures_test.cpp"},
    {"C077", "0.7466", "model/published_figures_test.cpp"},
    {"C078", "0.2353", "", two_points},
    {"C079", "7.8194", "", two_points},
    {"C080", "29.3us 8.156e-11; 38.6us 1.326e-10; 71.1us 1.975e-10", "model/fit_test.cpp"},
    {"C081", "14x; 16.6x; 7%", "", claim},
    {"C082", "133x; 2.6x", "", claim},
    {"C083", "2.5x; 14%/9%; 1395 samples/s", "", claim},
    {"C084", "recursive_doubling", "model/published_figures_test.cpp"},
    {"C085", "rabenseifner", "model/published_figures_test.cpp"},
    {"C086", "recursive_doubling", "model/published_figures_test.cpp"},
    {"C087", "nonoverlapping", "model/published_figures_test.cpp"},
    {"C088", "knomial", "model/published_figures_test.cpp"},
    {"C089", "pairwise", "model/published_figures_test.cpp"},
    {"C090", "two_proc", "model/published_figures_test.cpp"},
    {"C091", "ring", "model/published_figures_test.cpp"},
    {"C092", "binomial", "model/published_figures_test.cpp"},
    {"C138", "37.6; 105.4; 204.7", "model/input_pipeline_test.cpp"},
    {"C139", "39.8", "model/input_pipeline_test.cpp"},
    {"C140", "0.5642", "model/stragglers_test.cpp"},
    {"C141", "1.0294", "model/stragglers_test.cpp"},
    {"C142", "1.4236", "model/stragglers_test.cpp"},
    {"C143", "1.7660", "model/stragglers_test.cpp"},
    {"C144", "2.3437", "model/stragglers_test.cpp"},
    {"C145", "2.8269", "model/stragglers_test.cpp"},
    {"C146", "3.2482", "model/stragglers_test.cpp"},
    {"C147", "3.4418", "model/stragglers_test.cpp"},
    {"C148", "2.7179", "model/stragglers_test.cpp"},
    {"C149", "4.7439", "model/stragglers_test.cpp"},
    {"C150", "7.5092", "model/stragglers_test.cpp"},
    {"C151", "3.689 s/epoch; 347304 img/s; 226.1 img/s/GPU", "model/time_to_train_test.cpp",
     a_talk},
    {"C152", "443.5 s = 7.39 min; 127 img/s/node", "model/time_to_train_test.cpp"},
    {"C153", "35.0", "model/time_to_train_test.cpp"},
    {"C154", "35.2", "model/time_to_train_test.cpp"},
    {"C155", "40.0", "model/time_to_train_test.cpp"},
    {"C156", "42.0", "model/time_to_train_test.cpp"},
    {"C157", "45.4", "model/time_to_train_test.cpp"},
    {"C158", "56.0", "model/time_to_train_test.cpp"},
    {"C159", "68.0", "model/time_to_train_test.cpp"},
    {"C160", "79.9", "model/time_to_train_test.cpp"},
    {"C161", "84.5", "model/time_to_train_test.cpp"},
    {"C162", "85.857", "model/time_to_train_test.cpp"},
    {"C163", "4271.9", "model/time_to_train_test.cpp", bounds_only},
    {"C164", "120.2", "model/time_to_train_test.cpp", bounds_only},
    {"C165", "63.4", "model/time_to_train_test.cpp", bounds_only},
    {"C166", "34.5", "model/time_to_train_test.cpp", bounds_only},
    {"C167", "20.9", "model/time_to_train_test.cpp", bounds_only},
};

}  // namespace dlscale::model
