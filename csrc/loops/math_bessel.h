// Bessel and Airy functions in double, each in two parts: near zero and far from it. Coefficients interpolate at
// Chebyshev points, with a relative error below 1e-16.
#pragma once

#include "loops/math_exp.h"
#include "loops/math_trig.h"

namespace weft::WEFT_ISA::math {

namespace coefficients {
// I0(x) and I1(x) / x in powers of x^2 on |x| <= 8
inline constexpr double i0_near[] = {1.0,
                                     0.25,
                                     0.015625,
                                     0.0004340277777777778,
                                     6.781684027777758e-06,
                                     6.781684027778203e-08,
                                     4.7095027970619e-10,
                                     2.402807549583671e-12,
                                     9.385966986098854e-15,
                                     2.896903414473123e-17,
                                     7.242257588753194e-20,
                                     1.4963370838452556e-22,
                                     2.5977414368153943e-25,
                                     3.8439551522008304e-28,
                                     4.888364886932104e-31,
                                     5.566132785039442e-34,
                                     4.596006867582227e-37,
                                     7.1563841038704715e-40};
inline constexpr double i1_near[] = {0.5,
                                     0.0625,
                                     0.0026041666666666665,
                                     5.4253472222222226e-05,
                                     6.781684027777773e-07,
                                     5.651403356481591e-09,
                                     3.3639305693326665e-11,
                                     1.5017547184680642e-13,
                                     5.214426104646516e-16,
                                     1.4484517018212629e-18,
                                     3.2919354425983547e-21,
                                     6.234733594318706e-24,
                                     9.991390632392436e-27,
                                     1.3727374047117812e-29,
                                     1.630447729545268e-32,
                                     1.7329954717086137e-35,
                                     1.3769047940227915e-38,
                                     1.9429054278018938e-41};
// sqrt(x) e^-x I0(x) and the same of I1 in powers of 16 / x - 1 on x >= 8
inline constexpr double i0_far[] = {
  0.4021765094450081,      0.003360551983667854,   0.00013621607439232746, 1.1143033791556743e-05,
  1.4838475473607391e-06,  2.973598432479169e-07,  8.87225351128584e-08,   3.932602459703109e-08,
  2.1545177650836005e-08,  7.553516470355896e-09,  -6.729724111923548e-09, -1.3404241991980871e-08,
  -5.4685974495866e-09,    7.540601378890834e-09,  7.58022133915272e-09,   -3.4857887470034955e-09,
  -6.188265090497361e-09,  1.497880830187091e-09,  3.881151253996067e-09,  -5.562201990080394e-10,
  -1.7789375042917173e-09, 1.4672236659214398e-10, 5.181936971288284e-10,  -1.9216763724933513e-11,
  -7.06893851181878e-11};
inline constexpr double i1_far[] = {
  0.38939845902587233,     -0.009749577193235728,   -0.00021923576383430274, -1.5038547201176271e-05,
  -1.8349101134666435e-06, -3.483855609009937e-07,  -1.0001323461066435e-07, -4.312935369971356e-08,
  -2.337059627111857e-08,  -8.426622829598154e-09,  6.715795128085017e-09,   1.4029693589852716e-08,
  6.040877342160988e-09,   -7.630751970065577e-09,  -8.044231276166508e-09,  3.406636130196794e-09,
  6.4870195719816896e-09,  -1.4171698018664596e-09, -4.047785403711858e-09,  5.146498826087142e-10,
  1.8513716745511988e-09,  -1.342266320082222e-10,  -5.388285995923524e-10,  1.7502497778701306e-11,
  7.347992441734663e-11};
// K0(x) + log(x / 2) I0(x), I0(x), x K1(x) - x log(x / 2) I1(x) and I1(x) / x in powers of x^2 on 0 < x <= 1
inline constexpr double k0_near[] = {-0.5772156649015329,   0.10569608377461687,    0.01441850523591188,
                                     0.0005451899602702101, 1.0214014083524546e-05, 1.1570362119527242e-07,
                                     8.818563640355968e-10, 4.9241892075301924e-12};
inline constexpr double i0_small[] = {1.0,
                                      0.25000000000000006,
                                      0.015624999999999221,
                                      0.00043402777778401143,
                                      6.781684003298254e-06,
                                      6.781689246632508e-08,
                                      4.708886739799705e-10,
                                      2.4406278948541674e-12};
inline constexpr double k1_near[] = {1.0,
                                     0.03860783245076519,
                                     -0.042049020943628224,
                                     -0.0028371119839711075,
                                     -7.493042824415687e-05,
                                     -1.0892199927302317e-06,
                                     -1.0110857221340215e-08,
                                     -6.666125367903499e-11};
inline constexpr double i1_small[] = {0.5,
                                      0.0625,
                                      0.0026041666666666236,
                                      5.425347222256812e-05,
                                      6.781684014193744e-07,
                                      5.6514062526881675e-09,
                                      3.363588648332749e-11,
                                      1.522750603604819e-13};
// sqrt(x) e^x K0(x) and the same of K1 as ratios of polynomials of 1 / x on x >= 1
inline constexpr double k0_far_top[] = {1.2533141373155001, 23.700607202916,    174.41086241177837,  647.7344784246793,
                                        1318.824659813487,  1500.0837049843344, 932.6822514897584,   297.5769148980352,
                                        42.93321326685416,  2.1500890961504533, 0.017239810970913486};
inline constexpr double k0_far_bottom[] = {1.0,
                                           19.035348568859842,
                                           141.46884042578122,
                                           533.2357641290077,
                                           1110.2593156234332,
                                           1306.6366436760034,
                                           856.3771513421289,
                                           297.0791665821474,
                                           49.28582873676816,
                                           3.201128687365354,
                                           0.05012043653830599};
inline constexpr double k1_far_top[] = {1.2533141373155003, 27.469506568830408, 240.58307340445353, 1101.1820586096615,
                                        2896.36555403837,   4540.904405252394,  4265.439098137141,  2352.746274343389,
                                        725.0684756855165,  113.3938217624241,  7.446017168803026,  0.130384940947936};
inline constexpr double k1_far_bottom[] = {1.0,
                                           21.542495184142677,
                                           183.99627166586205,
                                           812.0395334149913,
                                           2025.9478443585901,
                                           2942.509908712673,
                                           2475.2651230078177,
                                           1164.6835426027299,
                                           285.27051374305506,
                                           31.786707151460003,
                                           1.2175249319016768,
                                           0.006746902392494653};
// J0(x) / (x^2 - its first zero^2), and the same of J1(x) / x, in powers of x^2 / 12.5 - 1 on |x| <= 5
inline constexpr double j0_near[] = {-0.05728080421634534,   0.07436630462755323,     -0.03277786210789048,
                                     0.0073758943041960226,  -0.0010134053469850017,  9.414473580694953e-05,
                                     -6.31931861832307e-06,  3.2115623534330415e-07,  -1.2795360167965494e-08,
                                     4.105688303742839e-10,  -1.0840781824695533e-11, 2.3996022403365534e-13,
                                     -4.5083190128242885e-15};
inline constexpr double j1_near[] = {-0.01587595431164548,   0.013090777521810029,    -0.004240225993395723,
                                     0.0007552540432951285,  -8.592956232067133e-05,  6.814683895177347e-06,
                                     -3.991381172349697e-07, 1.799515992374399e-08,   -6.443125533715618e-10,
                                     1.877381214599579e-11,  -4.5448929602915886e-13, 9.268080204743411e-15};
// Y0(x) - 2/pi log(x) J0(x) and (Y1(x) - 2/pi (log(x) J1(x) - 1 / x)) / x, in the same powers
inline constexpr double y0_near[] = {
  0.4837248578102995,    -0.4326558222855125,    -0.47057636552972876,   0.38851639956570944,    -0.11151682184328655,
  0.017635345389338752,  -0.0018028096665503853, 0.00012994629092083859, -6.985504374076987e-06, 2.9142206886821627e-07,
  -9.72095520811079e-09, 2.6539977501003325e-10, -6.049936925443629e-12, 1.1665346489650883e-13};
inline constexpr double y1_near[] = {0.13974939033568806,     0.09108650838448443,     -0.16312020358118715,
                                     0.06634695354779145,     -0.01343343374081816,    0.001668803132860553,
                                     -0.00014141835794487096, 8.733098315276023e-06,   -4.113778078975399e-07,
                                     1.528888444688957e-08,   -4.6013015686338337e-10, 1.1462846982460235e-11,
                                     -2.3976176456816346e-13};
// Hankel's P and x Q of orders 0 and 1 as ratios of polynomials of 1 / x^2 on x >= 5
inline constexpr double wave0_p_top[] = {1.0,
                                         170.06663799954603,
                                         9648.279440877252,
                                         228643.69720936415,
                                         2322401.2831138344,
                                         9300209.284893584,
                                         11570071.00404953,
                                         2187579.2729962557};
inline constexpr double wave0_p_bottom[] = {1.0,
                                            170.136950499546,
                                            9660.130043109719,
                                            229304.41638815345,
                                            2337532.1756632193,
                                            9443457.068506515,
                                            12060189.004021598,
                                            2585972.3445634823};
inline constexpr double wave0_q_top[] = {-0.12499999999999997, -23.580531951004044, -1498.6956341567118,
                                         -40279.24138078812,   -471010.7140364892,  -2208152.3655628315,
                                         -3244362.876695323,   -644552.4110464547};
inline constexpr double wave0_q_bottom[] = {1.0,
                                            189.23019310803036,
                                            12098.625275518423,
                                            328992.98558175564,
                                            3941293.946330357,
                                            19511562.06868047,
                                            33102942.45554263,
                                            11755326.880661972};
inline constexpr double wave1_p_top[] = {1.0,
                                         167.8240493038781,
                                         9369.540851890075,
                                         217737.34978248525,
                                         2159707.3239917094,
                                         8417277.609229228,
                                         10275298.639913261,
                                         2164354.569779722};
inline constexpr double wave1_p_bottom[] = {1.0,
                                            167.70686180387813,
                                            9350.031899578988,
                                            216665.1489110309,
                                            2135558.524563835,
                                            8192965.729190212,
                                            9523800.360693114,
                                            1566211.138771212};
inline constexpr double wave1_q_top[] = {0.375,
                                         69.9667147677312,
                                         4390.900006924195,
                                         116338.33021650225,
                                         1340014.690415139,
                                         6204284.26281513,
                                         9169192.563837843,
                                         2128768.9567567986};
inline constexpr double wave1_q_bottom[] = {1.0,
                                            186.85134354728245,
                                            11759.418645526508,
                                            313318.0212778658,
                                            3651261.691919789,
                                            17361777.471024144,
                                            27555371.960729644,
                                            8473238.009501364};
// the two series of Ai(x) = f(x^3) - x g(x^3) on -3 <= x <= 1
inline constexpr double airy_f[] = {0.3550280538878172,     0.05917134231463621,    0.0019723780771545405,
                                    2.7394139960478895e-05, 2.0753136333643963e-07, 9.882445871703707e-10,
                                    3.2295574511375094e-12, 7.689420189951482e-15,  1.3929960592761184e-17,
                                    1.983708454010619e-20,  2.2641218696528597e-23, 1.9078219575952335e-26};
inline constexpr double airy_g[] = {0.2588194037928068,     0.02156828364940058,   0.0005135305630809609,
                                    5.705895145331854e-06,  3.657625092614595e-08, 1.524010443436068e-10,
                                    4.4561694184290206e-13, 9.645276049033318e-16, 1.6070084427297388e-18,
                                    2.1099605859711192e-21, 2.012253044871499e-24};
// x^(1/4) e^z Ai(x), z = 2/3 x^(3/2), as a ratio of polynomials of 1 / z on x >= 1
inline constexpr double airy_right_top[] = {
  0.28209479177387814, 6.126422197881138,   53.35104350175002,     243.75462309272356, 642.7579778654737,
  1015.3289922387229,  967.2643236022167,   546.9062832384656,     176.46116878600057, 30.269243927604354,
  2.436245064924653,   0.07206570158943625, 0.00041238062294023044};
inline constexpr double airy_right_bottom[] = {1.0,
                                               21.787045678259357,
                                               190.60038080456783,
                                               876.5527423766795,
                                               2333.081874795013,
                                               3734.819263663511,
                                               3626.1425601945843,
                                               2106.62250516264,
                                               706.8095333410889,
                                               128.420864887396,
                                               11.290421926164829,
                                               0.3877074355863724,
                                               0.003085334612513835};
// F and z G of sqrt(pi) x^(1/4) Ai(-x) = F sin(z + pi/4) - G cos(z + pi/4) as ratios of polynomials of 1 / z^2 on x >=
// 3
inline constexpr double airy_left_even_top[] = {1.0,
                                                160.06109154972282,
                                                8857.999285366437,
                                                216369.61329455258,
                                                2471637.4640470603,
                                                12896996.509461472,
                                                27786656.034536283,
                                                19483699.99323292,
                                                2276172.6617696206};
inline constexpr double airy_left_even_bottom[] = {1.0,
                                                   160.0982250373769,
                                                   8863.886641639276,
                                                   216689.82237786005,
                                                   2479216.5208895807,
                                                   12978713.694823392,
                                                   28168940.714064598,
                                                   20143982.112491067,
                                                   2547951.202975465};
inline constexpr double airy_left_odd_top[] = {
  0.06944444444444445, 19.15170413884063, 1962.2367973493535, 97131.27112595354, 2531121.600385952, 35497968.597476415,
  263031612.53254607,  969409973.7583627, 1567450702.6349137, 847726925.4658297, 65611098.519681446};
inline constexpr double airy_left_odd_bottom[] = {1.0,
                                                  276.3316396507451,
                                                  28405.719109576854,
                                                  1413781.734439539,
                                                  37177456.34327624,
                                                  529460841.730458,
                                                  4028964251.1091566,
                                                  15580490377.43439,
                                                  27655685356.51388,
                                                  18410611734.313618,
                                                  2824093786.0043807};
}  // namespace coefficients

template <size_t N, size_t M>
WEFT_MATH double ratio(double x, const double (&top)[N], const double (&bottom)[M]) {
  return polynomial(x, top) / polynomial(x, bottom);
}

// ---- I0, I1: near is |x| <= 8; the far ones are scaled by e^-|x|

WEFT_MATH double i0_near(double x) { return polynomial(x * x, coefficients::i0_near); }
WEFT_MATH double i1_near(double x) { return x * polynomial(x * x, coefficients::i1_near); }
WEFT_MATH double i0_far(double a) { return polynomial(16 / a - 1, coefficients::i0_far) / sqrt(a); }
WEFT_MATH double i1_far(double a) { return polynomial(16 / a - 1, coefficients::i1_far) / sqrt(a); }

// ---- K0, K1: near is x <= 1; the far ones are scaled by e^x

WEFT_MATH double k0_near(double x) {
  double z = x * x;
  return horner(z, coefficients::k0_near) - log(0.5 * x) * horner(z, coefficients::i0_small);
}
WEFT_MATH double k1_near(double x) {
  double z = x * x;
  double y = log(0.5 * x) * (x * horner(z, coefficients::i1_small)) + horner(z, coefficients::k1_near) / x;
  return x == 0 ? inf<double> : y;
}
WEFT_MATH double k0_far(double x) {
  return ratio(1 / x, coefficients::k0_far_top, coefficients::k0_far_bottom) / sqrt(x);
}
WEFT_MATH double k1_far(double x) {
  return ratio(1 / x, coefficients::k1_far_top, coefficients::k1_far_bottom) / sqrt(x);
}

// ---- J0, J1, Y0, Y1: near is |x| <= 5; far up to where sin and cos hold

// The first zeros come in two parts, so that the functions are exact beside them.
WEFT_MATH double j0_near(double x) {
  constexpr double zero = 0x1.33d152e971b40p+1, rest = -1.176691651530894e-16;
  double a = abs(x);
  return ((a - zero) - rest) * (a + zero) * polynomial(a * a * 0.08 - 1, coefficients::j0_near);
}
WEFT_MATH double j1_near(double x) {
  constexpr double zero = 0x1.ea75575af6f09p+1, rest = -1.5269184090088067e-16;
  double a = abs(x);
  return x * (((a - zero) - rest) * (a + zero) * polynomial(a * a * 0.08 - 1, coefficients::j1_near));
}
constexpr double two_over_pi = 0.63661977236758134308;
WEFT_MATH double y0_near(double x) {
  return fma(two_over_pi * log(x), j0_near(x), polynomial(x * x * 0.08 - 1, coefficients::y0_near));
}
WEFT_MATH double y1_near(double x) {
  double y = two_over_pi * (log(x) * j1_near(x) - 1 / x) + x * polynomial(x * x * 0.08 - 1, coefficients::y1_near);
  return x == 0 ? -inf<double> : y;
}

// Hankel: J + iY = sqrt(2 / (pi x)) (P + iQ) e^(i (x - pi/4 - n pi/2)); the sine and cosine of that angle are sums and
// differences of those of x.
struct Wave {
  double p, q, plus, minus, scale;
};
template <int order>
WEFT_MATH Wave wave(double x) {
  namespace c = coefficients;
  double w = 1 / (x * x), s = sin(x), t = cos(x), p, q;
  if constexpr (order == 0) {
    p = ratio(w, c::wave0_p_top, c::wave0_p_bottom);
    q = ratio(w, c::wave0_q_top, c::wave0_q_bottom);
  } else {
    p = ratio(w, c::wave1_p_top, c::wave1_p_bottom);
    q = ratio(w, c::wave1_q_top, c::wave1_q_bottom);
  }
  return {p, q / x, s + t, s - t, 1 / sqrt(pi<double> * x)};
}
WEFT_MATH double j0_far(double x) {
  Wave v = wave<0>(abs(x));
  return (v.p * v.plus - v.q * v.minus) * v.scale;
}
WEFT_MATH double y0_far(double x) {
  Wave v = wave<0>(x);
  return (v.p * v.minus + v.q * v.plus) * v.scale;
}
WEFT_MATH double j1_far(double x) {
  Wave v = wave<1>(abs(x));
  return copysign(1.0, x) * ((v.p * v.minus + v.q * v.plus) * v.scale);
}
WEFT_MATH double y1_far(double x) {
  Wave v = wave<1>(x);
  return (v.q * v.minus - v.p * v.plus) * v.scale;
}

// ---- Ai: near is -3 <= x <= 1

WEFT_MATH double airy_near(double x) {
  double w = x * x * x;
  return polynomial(w, coefficients::airy_f) - x * polynomial(w, coefficients::airy_g);
}
WEFT_MATH double airy_far(double x) {
  namespace c = coefficients;
  double a = abs(x), root = sqrt(a), z = a * root * (2.0 / 3), u = 1 / z, w = u * u, fourth = sqrt(root);
  double right = exp_times(-z, ratio(u, c::airy_right_top, c::airy_right_bottom) / fourth);
  double s = sin(z), t = cos(z);
  double even = ratio(w, c::airy_left_even_top, c::airy_left_even_bottom);
  double odd = u * ratio(w, c::airy_left_odd_top, c::airy_left_odd_bottom);
  double left = (even * (s + t) - odd * (t - s)) * (0.39894228040143267794 / fourth);
  return x < 0 ? left : right;
}

}  // namespace weft::WEFT_ISA::math
